//===- LoadedModel.cpp - an artifact through its C ABI --------------------===//

#include "LoadedModel.h"

#include "base/AtomicFile.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>

namespace tlm {
namespace {

using ApiFunction = const tlm_api *(*)(uint32_t);

struct Library {
  void *handle = nullptr;
  const tlm_api *api = nullptr;
};

Result<Library> loadLibrary(const std::string &path) {
  std::error_code failure;
  std::filesystem::path absolute = std::filesystem::canonical(path, failure);
  if (failure)
    return makeError("cannot read '" + path + "': " + failure.message());
  char magic[4] = {};
  std::ifstream(absolute, std::ios::binary).read(magic, sizeof(magic));
  if (std::memcmp(magic,
                  "\x7f"
                  "ELF",
                  4) != 0)
    return makeError(
        "'" + path + "' is no compiled model",
        path.ends_with(".onnx") ? "compile it first: tlm compile " + path : "");
  Library library;
  library.handle = dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library.handle)
    return makeError("cannot load '" + path + "': " + dlerror());
  auto function =
      reinterpret_cast<ApiFunction>(dlsym(library.handle, "tlm_artifact_api"));
  if (!function) {
    dlclose(library.handle);
    return makeError("'" + path +
                     "' is a shared object, but no compiled model "
                     "(it has no tlm_artifact_api)");
  }
  library.api = function(TLM_ABI_VERSION);
  if (!library.api) {
    dlclose(library.handle);
    return makeError("'" + path + "' does not serve ABI version " +
                         std::to_string(TLM_ABI_VERSION),
                     "compile the model again with this tlm");
  }
  return library;
}

std::string text(const char *string) { return string ? string : ""; }

} // namespace

Result<std::unique_ptr<LoadedModel>>
LoadedModel::open(const std::string &path, const LoadOptions &options) {
  TLM_TRY(Library library, loadLibrary(path));
  std::unique_ptr<LoadedModel> loaded(new LoadedModel);
  loaded->path = path;
  loaded->library = library.handle;
  loaded->api = library.api;
  tlm_options native{};
  native.struct_size = sizeof(native);
  native.threads = options.threads;
  native.poison_arena = options.poisonArena;
  TLM_TRY_STATUS(
      loaded->checked(library.api->model_open(&native, &loaded->model)));
  TLM_TRY_STATUS(loaded->reserveCallers(1));
  TLM_TRY_STATUS(loaded->readSignature());
  return loaded;
}

Result<std::string> LoadedModel::readManifest(const std::string &path) {
  TLM_TRY(Library library, loadLibrary(path));
  std::string manifest = text(library.api->manifest());
  dlclose(library.handle);
  return manifest;
}

LoadedModel::~LoadedModel() {
  for (tlm_context *context : contexts)
    api->context_destroy(context);
  if (model)
    api->model_close(model);
  if (library)
    dlclose(library);
}

Status LoadedModel::reserveCallers(size_t count) {
  while (contexts.size() < count) {
    tlm_context *context = nullptr;
    TLM_TRY_STATUS(checked(api->context_create(model, &context)));
    contexts.push_back(context);
  }
  return success();
}

std::string LoadedModel::manifest() const { return text(api->manifest()); }

Status LoadedModel::checked(tlm_status status) const {
  if (status == TLM_OK)
    return success();
  return makeError(path + ": " + text(api->last_error()), {},
                   status == TLM_ERROR_MACHINE ? ErrorCode::Machine
                                               : ErrorCode::Model);
}

Status LoadedModel::readSignature() {
  auto read = [&](int32_t count, auto info,
                  std::vector<TensorSpec> &specs) -> Status {
    for (int32_t i = 0; i < count; ++i) {
      tlm_tensor_info native{};
      native.struct_size = sizeof(native);
      TLM_TRY_STATUS(checked(info(model, i, &native)));
      specs.push_back({text(native.name),
                       DType(native.dtype),
                       {native.dims, native.dims + native.rank}});
    }
    return success();
  };
  TLM_TRY_STATUS(read(api->input_count(model), api->input_info, inputSpecs));
  TLM_TRY_STATUS(read(api->output_count(model), api->output_info, outputSpecs));
  for (int32_t i = 0, count = api->step_count(model); i < count; ++i) {
    tlm_step_info native{};
    native.struct_size = sizeof(native);
    TLM_TRY_STATUS(checked(api->step_info(model, i, &native)));
    stepFacts.push_back({text(native.name), text(native.kernel),
                         text(native.task_key), text(native.output_name),
                         native.flops, native.bytes});
  }
  return success();
}

Status LoadedModel::run(const std::vector<HostTensor> &inputs,
                        std::vector<HostTensor> &outputs, const StepHook &hook,
                        size_t caller) {
  TLM_CHECK(caller < contexts.size()) << "caller " << caller;
  if (outputs.empty())
    for (const TensorSpec &spec : outputSpecs) {
      if (!checkedCount(spec.dims))
        return makeError("output '" + spec.name + "' " + spec.typeText() +
                         " has symbolic dims, which this tlm cannot run");
      outputs.emplace_back(spec.name, spec.dtype, spec.dims);
    }
  auto view = [](const HostTensor &tensor) {
    tlm_tensor native{};
    native.struct_size = sizeof(native);
    native.data = const_cast<char *>(tensor.data.data());
    native.dtype = int32_t(tensor.dtype);
    native.rank = int32_t(tensor.dims.size());
    native.dims = tensor.dims.data();
    return native;
  };
  std::vector<tlm_tensor> in, out;
  for (const HostTensor &tensor : inputs)
    in.push_back(view(tensor));
  for (const HostTensor &tensor : outputs)
    out.push_back(view(tensor));

  tlm_run_options options{};
  options.struct_size = sizeof(options);
  if (hook) {
    options.step_hook = [](void *user, tlm_context *context, int32_t step,
                           int64_t begin, int64_t end) {
      (*static_cast<const StepHook *>(user))(context, step, begin, end);
    };
    options.step_hook_user = const_cast<StepHook *>(&hook);
  }
  return checked(api->run(contexts[caller], in.data(), int32_t(in.size()),
                          out.data(), int32_t(out.size()),
                          hook ? &options : nullptr));
}

Result<HostTensor> LoadedModel::stepOutput(tlm_context *context,
                                           int32_t step) const {
  tlm_buffer_view view{};
  view.struct_size = sizeof(view);
  TLM_TRY_STATUS(checked(api->step_output(context, step, &view)));
  HostTensor tensor(stepFacts[size_t(step)].outputName, DType(view.dtype),
                    {view.dims, view.dims + view.rank});
  size_t size = sizeOf(tensor.dtype);
  const char *source = static_cast<const char *>(view.data);
  char *destination = tensor.data.data();
  std::vector<int64_t> index(tensor.dims.size(), 0);
  for (int64_t i = 0, count = tensor.count(); i < count; ++i) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d)
      offset += index[d] * view.strides[d];
    std::memcpy(destination + size_t(i) * size, source + offset * int64_t(size),
                size);
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < tensor.dims[d])
        break;
      index[d] = 0;
    }
  }
  return tensor;
}

double LoadedModel::flops() const {
  double sum = 0;
  for (const StepFacts &step : stepFacts)
    sum += step.flops;
  return sum;
}

Result<std::vector<HostTensor>>
runKeepingSteps(LoadedModel &model, const std::vector<HostTensor> &inputs,
                std::vector<HostTensor> &outputs) {
  std::vector<HostTensor> kept;
  Status failure = success();
  TLM_TRY_STATUS(
      model.run(inputs, outputs,
                [&](tlm_context *context, int32_t step, int64_t, int64_t) {
                  Result<HostTensor> tensor = model.stepOutput(context, step);
                  if (tensor)
                    kept.push_back(std::move(*tensor));
                  else
                    failure = tensor.error();
                }));
  TLM_TRY_STATUS(std::move(failure));
  std::vector<HostTensor> usual;
  TLM_TRY_STATUS(model.run(inputs, usual));
  for (size_t i = 0; i < outputs.size(); ++i)
    if (usual[i].data != outputs[i].data)
      return makeError("output '" + outputs[i].name +
                           "' has other bits when steps take turns",
                       "this is a bug of tlm; please report the model",
                       ErrorCode::Mismatch);
  return kept;
}

} // namespace tlm
