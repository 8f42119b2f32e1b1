import subprocess
import sys


def test_numpy_computes_as_ever_and_others_inspect_as_ever():
    code = (
        "import sys; from vta.support.quick_numpy import import_numpy; import_numpy(); import_numpy();"
        "import inspect, numpy as np; assert inspect is sys.modules['inspect']; assert inspect.cleandoc('  a\\n  b') == 'a\\nb';"
        "assert list(inspect.signature(np.sum).parameters); assert not inspect.signature(import_numpy).parameters;"
        "print(np.linalg.norm(np.array([3.0, 4.0])), np.einsum('ij->j', np.ones((2, 2), np.int8)).tolist(), np.add(1, 2))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["5.0", "[2,", "2]", "3"]


def test_what_numpy_needs_of_inspect_beside_texts_is_the_real_thing():
    code = (
        "import sys; from vta.support.quick_numpy import _Inspect; stand_in = sys.modules['inspect'] = _Inspect('inspect');"
        "assert stand_in.isfunction(lambda: 0); import inspect;"
        "assert stand_in.isclass is inspect.isclass and inspect is not stand_in"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_types_for_checkers_have_another_name_where_they_are_given_one():
    code = (
        "from vta.support.quick_numpy import import_numpy; import_numpy();"
        "import numpy.typing as npt, numpy as np; assert npt.NDArray[np.int8] is np.ndarray; assert np.typing is npt;"
        "assert npt.NBitBase; import numpy.typing as real; assert real is np.typing is not npt; assert real.ArrayLike"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_types_for_checkers_are_there_for_those_who_ask_for_others():
    code = (
        "import sys; from vta.support.quick_numpy import import_numpy; import_numpy();"
        "from numpy.typing import NDArray; import numpy as np; assert NDArray[np.int8] is np.ndarray;"
        "assert not hasattr(sys.modules['numpy.typing'], '__path__');"
        "from numpy.typing import ArrayLike, DTypeLike; assert 'numpy._typing._array_like' not in sys.modules;"
        "from numpy.typing import NBitBase; import numpy.typing; from numpy._typing import NDArray as real;"
        "assert numpy.typing.NDArray is real; assert 'int8' in str(real[np.int8]);"
        "import numpy.random, numpy.polynomial; print(np.typing.NBitBase is NBitBase)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"]


def test_linear_algebra_is_the_real_thing_where_it_is_used():
    code = (
        "import sys; from vta.support.quick_numpy import import_numpy; import_numpy();"
        "import numpy as np; print(sorted(np.roots([1.0, -3.0, 2.0]).tolist()));"
        "assert np.linalg.__file__ and np.linalg is sys.modules['numpy.linalg'];"
        "import numpy.linalg; from numpy.linalg import LinAlgError, inv; assert inv is np.linalg.inv;"
        "print((np.asmatrix([[2, 0], [0, 2]]) ** 3).tolist(), np.polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1).round(6).tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[1.0, 2.0]", "[[8, 0], [0, 8]] [2.0, 1.0]"]
