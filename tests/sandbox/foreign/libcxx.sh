#!/usr/bin/env bash
# Makes what C++ with exceptions needs: libc++ and libc++abi of zig's own sources, compiled with the exceptions of WebAssembly 3.0, because
# the ones that zig, Debian and wasi-sdk ship for WASI are made without. Then compiles and links one program with them.
#
#   libcxx.sh ZIG PROGRAM.cpp OUTPUT.wasm
set -euo pipefail
zig=$1 program=$2 output=$3
lib=$(dirname "$zig")/lib
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# What a configured libc++ has in `__config_site`; zig gives it by flags.
site=(-D_LIBCPP_ABI_VERSION=2 -D_LIBCPP_ABI_NAMESPACE=__2 -D_LIBCPP_HARDENING_MODE_DEFAULT=2 -D_LIBCPP_ASSERTION_SEMANTIC_DEFAULT=2
    -D_LIBCPP_PSTL_BACKEND_SERIAL)
for there in MONOTONIC_CLOCK TERMINAL MUSL_LIBC FILESYSTEM RANDOM_DEVICE LOCALIZATION UNICODE WIDE_CHARACTERS; do
    site+=("-D_LIBCPP_HAS_$there=1")
done
for absent in HAS_THREADS HAS_THREAD_API_PTHREAD HAS_THREAD_API_EXTERNAL HAS_THREAD_API_WIN32 HAS_THREAD_API_C11 HAS_TIME_ZONE_DATABASE \
    HAS_VENDOR_AVAILABILITY_ANNOTATIONS INSTRUMENTED_WITH_ASAN ABI_FORCE_ITANIUM ABI_FORCE_MICROSOFT LIBC_PICOLIBC LIBC_NEWLIB; do
    site+=("-D_LIBCPP_$absent=0")
done
compile=("$zig" clang --target=wasm32-wasip1 -w -Qunused-arguments -O2 -DNDEBUG -fwasm-exceptions -mllvm -wasm-use-legacy-eh=false -nostdlibinc)
cxx=("${compile[@]}" -std=c++23 -nostdinc++ "${site[@]}" -isystem "$lib/libcxx/include" -isystem "$lib/libcxxabi/include")
c=(-isystem "$lib/libunwind/include" -isystem "$lib/include" -isystem "$lib/libc/include/wasm-wasi-musl" -isystem "$lib/libc/include/generic-musl")

# Without threads, without numbers from text (their sources are libc's), and of files the paths.
for file in "$lib"/libcxxabi/src/*.cpp "$lib"/libcxx/src/{,ryu/}*.cpp "$lib/libcxx/src/filesystem/path.cpp"; do
    case $(basename "$file" .cpp) in
        cxa_noexception | cxa_thread_atexit | new | atomic | barrier | condition_variable* | mutex* | shared_mutex | future | thread | charconv) ;;
        *) echo "$file" ;;
    esac
done | xargs -P "$(nproc)" -I {} sh -c 'file=$1 folder=$2; shift 2
    "$@" -c "$file" -o "$folder/$(basename "$(dirname "$(dirname "$file")")")-$(basename "$file" .cpp).o"' compile {} "$folder" \
    "${cxx[@]}" "${c[@]}" -D_LIBCXXABI_HAS_NO_THREADS -D_LIBCXXABI_BUILDING_LIBRARY -D_LIBCPP_BUILDING_LIBRARY -DLIBCXX_BUILDING_LIBCXXABI \
    -I"$lib/libcxxabi/src" -I"$lib/libcxx/src"
"${compile[@]}" "${c[@]}" -D_LIBUNWIND_HIDE_SYMBOLS -c "$lib/libunwind/src/Unwind-wasm.c" -o "$folder/unwind.o"
printf '\t.globl\t__cpp_exception\n\t.tagtype\t__cpp_exception i32\n__cpp_exception:\n' > "$folder/tag.s"
"${compile[@]}" -c "$folder/tag.s" -o "$folder/tag.o"
"${cxx[@]}" "${c[@]}" -c "$program" -o "$folder/program.o"
"$zig" cc -target wasm32-wasi "$folder"/*.o -o "$output"
