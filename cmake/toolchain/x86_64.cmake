# x86_64.cmake - cross-compile for x86_64 and run what comes out under qemu.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-linux-gnu-gcc)
set(CMAKE_ASM_COMPILER x86_64-linux-gnu-gcc)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-x86_64;-cpu;max;-L;/usr/x86_64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
