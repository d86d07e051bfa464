# python_abi.cmake - which of Python's ABIs the extension is built for.
#
# One build of the limited API of 3.11 serves every later interpreter with a GIL. Free-threaded ones
# have a limited API from 3.15 on, whose builds serve those with a GIL too (PEP 803); before that
# each version is its own. TAKT_ABI3T asks for the second of these where the interpreter has a GIL.
set(TAKT_ABI3T OFF CACHE BOOL "the stable ABI of Python 3.15, with and without a GIL")
execute_process(COMMAND ${Python3_EXECUTABLE} -c
  "from sysconfig import get_config_var as get
print(int(get('Py_GIL_DISABLED') or 0), get('EXT_SUFFIX'), sep=';')"
  OUTPUT_VARIABLE abi OUTPUT_STRIP_TRAILING_WHITESPACE)
list(GET abi 0 is_free)
list(GET abi 1 python_suffix)
set(python_definitions "")
if(TAKT_ABI3T OR (is_free AND Python3_VERSION VERSION_GREATER_EQUAL 3.15))
  if(Python3_VERSION VERSION_LESS 3.15)
    message(FATAL_ERROR "TAKT_ABI3T needs the headers of Python 3.15 or later")
  endif()
  set(python_definitions Py_TARGET_ABI3T=0x030F0000)
  set(python_suffix .abi3t.so)
elseif(NOT is_free)
  set(python_definitions Py_LIMITED_API=0x030B0000)
  set(python_suffix .abi3.so)
endif()
