//===- Artifact.cpp -------------------------------------------------------===//

#include "driver/Artifact.h"

#include "driver/ElfObject.h"
#include "driver/ElfSegments.h"
#include "driver/Linker.h"
#include "driver/ManifestText.h"
#include "driver/PlanBlob.h"
#include "driver/RuntimeObject.h"
#include "driver/StagedFile.h"
#include "driver/WeightWriter.h"
#include "runtime/Format.h"

#include <cstring>
#include <memory>

namespace tlm {

static_assert(kSegmentDataOffset == TLM_WEIGHTS_DATA_OFFSET);
static_assert(kSegmentHeadBytes >= sizeof(TlmWeightsHeader));

namespace {

constexpr const char *kPlanSection = ".tlm.plan";
constexpr const char *kApi = "tlm_artifact_api";

/// The plan, the manifest, the table of kernel stages, and <name>_api, which
/// jumps to tlm_artifact_api.
std::vector<char> planObject(const PlanBlob &blob, const std::string &manifest,
                             const std::string &namedApi) {
  using Section = ElfObject::SectionKind;
  using Symbol = ElfObject::SymbolKind;
  using Relocation = ElfObject::RelocationKind;
  ElfObject object;
  int plan = object.addSection(kPlanSection, Section::ReadOnly, 64, blob.bytes);
  object.addSymbol("tlmPlanBlob", Symbol::HiddenData, plan);
  int text = object.addSection(".rodata.tlmManifest", Section::ReadOnly, 1,
                               {manifest.c_str(), manifest.size() + 1});
  object.addSymbol("tlmManifest", Symbol::HiddenData, text);
  // One more, so that the table is never empty.
  std::string addresses((blob.stageSymbols.size() + 1) * 8, '\0');
  int table = object.addSection(".data.rel.ro.tlmStageTable",
                                Section::ReadOnlyPointers, 16, addresses);
  object.addSymbol("tlmStageTable", Symbol::HiddenData, table);
  for (size_t i = 0; i < blob.stageSymbols.size(); ++i)
    object.addRelocation(
        table, i * 8, Relocation::Absolute64,
        object.addSymbol(blob.stageSymbols[i], Symbol::Undefined, 0), 0);
  if (namedApi != kApi) {
    // endbr64; jmp tlm_artifact_api
    std::string jump("\xf3\x0f\x1e\xfa\xe9\0\0\0\0", 9);
    int code = object.addSection(".text.tlmNamedApi", Section::Code, 16, jump);
    object.addSymbol(namedApi, Symbol::ExportedFunction, code);
    object.addRelocation(code, 5, Relocation::Call32,
                         object.addSymbol(kApi, Symbol::Undefined, 0), -4);
  }
  return object.bytes();
}

Result<std::vector<char>> linkArtifact(const ArtifactInput &input,
                                       const PlanBlob &blob,
                                       const std::string &manifest,
                                       const std::string &soname) {
  std::string namedApi = input.name + "_api";
  std::vector<char> plan = planObject(blob, manifest, namedApi);
  LinkInput link;
  link.objects.push_back({plan.data(), plan.size()});
  link.objects.push_back(runtimeObject());
  for (const Kernel &kernel : *input.kernels)
    if (!kernel.object.empty()) // kernels may share one
      link.objects.push_back({kernel.object.data(), kernel.object.size()});
  link.exported = {kApi};
  if (namedApi != kApi)
    link.exported.push_back(namedApi);
  link.soname = soname;
  return linkSharedObject(link);
}

} // namespace

Result<ArtifactSummary> writeArtifact(const ArtifactInput &input,
                                      const std::string &path) {
  TLM_CHECK(input.kernels->size() == input.plan->tasks.size())
      << input.kernels->size() << " kernels for " << input.plan->tasks.size()
      << " tasks";
  WeightLayout layout =
      layoutWeights(*input.graph, *input.plan, *input.kernels);
  std::string fileName = path.substr(path.find_last_of('/') + 1);
  bool isSide = layout.totalBytes > input.sideFileLimitBytes;
  bool isInside = !isSide && layout.totalBytes > 0;
  std::string sideName = isSide ? fileName + ".weights" : "";

  PlanBlob blob = buildPlanBlob(input, layout, sideName);
  std::string manifest = manifestText(input, layout, sideName);
  TLM_TRY(std::vector<char> image,
          linkArtifact(input, blob, manifest, fileName));
  TLM_TRY(SectionRange plan, findSection(image, kPlanSection));
  TLM_CHECK(plan.bytes >= blob.bytes.size()) << plan.bytes;

  ArtifactSummary summary;
  summary.weightBytes = layout.totalBytes;
  uint64_t imageBytes = tlmWeightsImageBytes(uint64_t(layout.totalBytes));
  TLM_TRY(std::unique_ptr<StagedFile> file, StagedFile::create(path));
  std::unique_ptr<StagedFile> side;
  uint64_t hash = 0;
  summary.fileBytes = int64_t(image.size());
  if (isInside) {
    TLM_TRY(uint64_t offset, appendSegment(image, imageBytes));
    // Weights behind what the linker made, which is written last.
    TLM_TRY(hash,
            writeWeights(*input.graph, layout, *file, offset, input.threads));
    TlmWeightsHeader header = weightsHeader(layout, hash);
    std::memcpy(image.data() + offset, &header, sizeof(header));
    summary.fileBytes = int64_t(offset + imageBytes);
  } else if (isSide) {
    summary.sideFile = path + ".weights";
    TLM_TRY(side, StagedFile::create(summary.sideFile));
    TLM_TRY(hash, writeWeights(*input.graph, layout, *side, 0, input.threads));
    TlmWeightsHeader header = weightsHeader(layout, hash);
    TLM_TRY_STATUS(side->write(0, &header, sizeof(header)));
  }
  sealPlanBlob(image.data() + plan.offset, blob.bytes.size(), hash);
  TLM_TRY_STATUS(file->write(0, image.data(), image.size()));
  if (side)
    TLM_TRY_STATUS(side->commit(/*isExecutable=*/false));
  TLM_TRY_STATUS(file->commit(/*isExecutable=*/true));
  return summary;
}

} // namespace tlm
