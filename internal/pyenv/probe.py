# Says what an interpreter is, as one JSON object. Runs on Python 3.6 and newer.
import importlib.util
import json
import sys
import sysconfig

json.dump(
    {
        "version": ".".join(map(str, sys.version_info[:3])),
        "implementation": sys.implementation.name,
        "bits": 64 if sys.maxsize > 2**32 else 32,
        "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        # Of a virtual environment, the interpreter that it was made from.
        "executable": getattr(sys, "_base_executable", None) or sys.executable,
        # Debian ships it apart, as python3-venv.
        "ensurepip": importlib.util.find_spec("ensurepip") is not None,
    },
    sys.stdout,
)
