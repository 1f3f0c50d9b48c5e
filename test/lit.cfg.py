"""What every lit suite of TLM shares; loaded by a generated lit.site.cfg.py."""
import os

import lit.formats

config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.environment["PATH"] = os.pathsep.join(
    [config.tlm_bin, config.llvm_bin, os.environ.get("PATH", "")])
config.substitutions.append(("%python", config.python))
# Writes the small network of test/e2e/models.py.
config.substitutions.append(("%models", config.tlm_source + "/test/e2e/models.py"))
config.substitutions.append(("%source", config.tlm_source))
config.substitutions.append(("%bin", config.tlm_bin))
