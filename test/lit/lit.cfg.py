# Tests find our tools and LLVM's (FileCheck, not, split-file) on PATH.
import os

import lit.formats

config.name = "TensorTurbo"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".relay", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.tt_obj_root, "test", "lit", "output")
config.environment["PATH"] = os.pathsep.join(
    [config.tt_tools_dir, config.llvm_tools_dir, config.environment["PATH"]]
)
config.environment["FILECHECK_OPTS"] = "--dump-input-filter=error --enable-var-scope"
