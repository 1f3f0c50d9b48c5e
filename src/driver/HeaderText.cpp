//===- HeaderText.cpp - the C header of an artifact -----------------------===//

#include "driver/Artifact.h"

#include <cctype>

namespace tlm {

std::string artifactName(const std::string &path) {
  std::string name = path.substr(path.find_last_of('/') + 1);
  size_t dot = name.find('.', 1);
  if (dot != std::string::npos)
    name.resize(dot);
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])))
    name.insert(0, "model_");
  return name;
}

namespace {

/// A name from the user's file, safe inside a C comment.
std::string commentText(const std::string &name) {
  std::string text;
  for (char c : name) {
    bool isPlain = std::isprint(static_cast<unsigned char>(c));
    bool endsComment = c == '/' && !text.empty() && text.back() == '*';
    text += isPlain && !endsComment ? c : '?';
  }
  return text;
}

void appendTensors(std::string &text, const ArtifactInput &input,
                   const std::vector<int32_t> &buffers, const char *kind) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    const PlanBuffer &buffer = input.plan->buffers[size_t(buffers[i])];
    text += std::string(" *   ") + kind + " " + std::to_string(i) + "  " +
            commentText(input.graph->value(buffer.value).name) + "  " +
            typeText(buffer.type.dtype, buffer.type.dims) + "\n";
  }
}

void appendDims(std::string &text, const ArtifactInput &input,
                const std::vector<int32_t> &buffers,
                const std::string &prefix) {
  text +=
      "#define " + prefix + "_COUNT " + std::to_string(buffers.size()) + "\n";
  for (size_t i = 0; i < buffers.size(); ++i) {
    const BufferType &type = input.plan->buffers[size_t(buffers[i])].type;
    std::string stem = prefix + "_" + std::to_string(i);
    text += "#define " + stem + "_DTYPE " +
            std::to_string(int32_t(type.dtype)) + "\n";
    text +=
        "#define " + stem + "_RANK " + std::to_string(type.dims.size()) + "\n";
    text += "#define " + stem + "_DIMS {";
    for (size_t d = 0; d < type.dims.size(); ++d)
      text += (d ? ", " : "") + std::to_string(type.dims[d]);
    text += "}\n";
  }
}

} // namespace

std::string headerText(const ArtifactInput &input) {
  std::string upper;
  for (char c : input.name)
    upper += char(std::toupper(static_cast<unsigned char>(c)));
  std::string text = "/* " + input.name + ".h - written by tlm\n *\n";
  appendTensors(text, input, input.plan->inputs, "input ");
  appendTensors(text, input, input.plan->outputs, "output");
  text += " */\n\n#ifndef TLM_MODEL_" + upper + "_H\n#define TLM_MODEL_" +
          upper + "_H\n\n#include \"tlm/tlm.h\"\n\n";
  appendDims(text, input, input.plan->inputs, upper + "_INPUT");
  appendDims(text, input, input.plan->outputs, upper + "_OUTPUT");
  text += "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
          "/* NULL when the artifact cannot serve that version. */\n"
          "const tlm_api *" +
          input.name +
          "_api(uint32_t abi_version);\n\n"
          "#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  return text;
}

} // namespace tlm
