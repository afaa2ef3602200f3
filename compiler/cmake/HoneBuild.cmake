# HoneBuild.cmake - the words that leaf CMakeLists.txt files are written in.
#
# One shared MLIR and one shared LLVM are linked everywhere: mixing in static
# components gives two copies of every TypeID.

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

set(HONE_SANITIZE "" CACHE STRING
    "Sanitizers to build everything with, as in address,undefined")
set(HONE_SHARED "$ENV{HONE_SHARED}" CACHE PATH
    "Folder with data/ for the tests on real models; empty skips them")

find_package(MLIR 22.1 REQUIRED CONFIG)
find_package(Threads REQUIRED)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# add_mlir_doc would otherwise write into the LLVM installation.
set(MLIR_BINARY_DIR "${PROJECT_BINARY_DIR}")
set(LLVM_TOOLS "${LLVM_TOOLS_BINARY_DIR}")

add_compile_options(-Wall -Wextra -Wno-unused-parameter)
if(HONE_SANITIZE)
  add_compile_options(-fsanitize=${HONE_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HONE_SANITIZE})
endif()

# The compiler's half sees the repository root, the generated files and MLIR.
add_library(hone_compiler_options INTERFACE)
target_include_directories(hone_compiler_options INTERFACE
  "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}")
target_include_directories(hone_compiler_options SYSTEM INTERFACE
  ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_compile_definitions(hone_compiler_options INTERFACE
  ${LLVM_DEFINITIONS_LIST})
target_link_libraries(hone_compiler_options INTERFACE MLIR LLVM)
# honec's time is LLVM's: with more optimization it is as fast, and takes a third
# longer to build.
target_compile_options(hone_compiler_options INTERFACE
  "$<$<CONFIG:Release>:-O1>")

# The runtime's half sees neither LLVM nor exceptions. The root is for the
# settings of methods, which are rows of its table.
add_library(hone_runtime_options INTERFACE)
target_include_directories(hone_runtime_options INTERFACE
  "${PROJECT_SOURCE_DIR}/runtime/include" "${PROJECT_SOURCE_DIR}/runtime/src"
  "${PROJECT_SOURCE_DIR}")
target_link_libraries(hone_runtime_options INTERFACE Threads::Threads)

# hone_tablegen(TARGET FILE.td OUT.inc -flags ... [OUT.inc -flags ...])
# Each output is one file name followed by the flags that make it.
function(hone_tablegen target source)
  set(LLVM_TARGET_DEFINITIONS ${source})
  set(includes "${PROJECT_SOURCE_DIR}" ${MLIR_INCLUDE_DIRS})
  set(out "")
  set(flags "")
  foreach(word IN LISTS ARGN)
    if(word MATCHES "\\.inc$")
      if(out)
        mlir_tablegen(${out} ${flags} EXTRA_INCLUDES ${includes})
      endif()
      set(out ${word})
      set(flags "")
    else()
      list(APPEND flags ${word})
    endif()
  endforeach()
  mlir_tablegen(${out} ${flags} EXTRA_INCLUDES ${includes})
  add_public_tablegen_target(${target})
endfunction()

# hone_page(NAME FILE -flags...): FILE.td as a page, docs/reference/NAME.md of the
# build folder, which the target mlir-doc makes.
function(hone_page name source)
  add_mlir_doc(${source} ${name} reference/ ${ARGN}
    EXTRA_INCLUDES "${PROJECT_SOURCE_DIR}" ${MLIR_INCLUDE_DIRS})
endfunction()

# hone_embed(OUT files...): OUT is a list of sources for a library, which then
# may include each FILE as "<its path in the repository>.inc", a string literal.
function(hone_embed out)
  set(sources "")
  foreach(file IN LISTS ARGN)
    set(source "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
    set(literal "${CMAKE_CURRENT_BINARY_DIR}/${file}.inc")
    set(script "${PROJECT_SOURCE_DIR}/compiler/cmake/EmbedText.cmake")
    add_custom_command(OUTPUT "${literal}" DEPENDS "${source}" "${script}"
      COMMAND "${CMAKE_COMMAND}" "-DTEXT=${source}" "-DLITERAL=${literal}"
              -P "${script}"
      COMMENT "Embedding ${file}" VERBATIM)
    list(APPEND sources "${literal}")
  endforeach()
  set(${out} "${sources}" PARENT_SCOPE)
endfunction()

# Headers take most of the time of a translation unit, so those that most files
# include are compiled once. Without timestamps in them, equal headers have equal
# bytes, by which ccache knows them.
option(HONE_PRECOMPILED "Precompile headers that most files include" ON)
add_compile_options(
  "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
set(HONE_PRECOMPILED_HEADERS "${CMAKE_CURRENT_LIST_DIR}")
# In them clang does not see the pragmas of the standard library's headers on
# warnings.
set(HONE_PRECOMPILED_FLAGS -fPIC)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND
   CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 20)
  list(APPEND HONE_PRECOMPILED_FLAGS
    "--warning-suppression-mappings=${CMAKE_CURRENT_LIST_DIR}/suppressed-warnings.txt")
endif()

# hone_precompile(NAME HEADER [LINK libraries...] [FLAGS flags...])
function(hone_precompile name header)
  cmake_parse_arguments(ARG "" "" "LINK;FLAGS" ${ARGN})
  if(HONE_PRECOMPILED)
    add_library(${name} OBJECT "${HONE_PRECOMPILED_HEADERS}/Precompiled.cpp")
    target_link_libraries(${name} PUBLIC ${ARG_LINK})
    target_compile_options(${name} PRIVATE ${ARG_FLAGS})
    target_precompile_headers(${name} PRIVATE
      "${HONE_PRECOMPILED_HEADERS}/${header}")
    # ccache takes headers that differ in comments alone for equal, but clang
    # refuses a precompiled header that was made of others.
    set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER "")
  endif()
endfunction()

# hone_reuse_precompiled(TARGET NAME): NAME was made with TARGET's flags, but that
# CMake compiles executables with -fPIE.
function(hone_reuse_precompiled target name)
  if(HONE_PRECOMPILED)
    target_compile_options(${target} PRIVATE ${HONE_PRECOMPILED_FLAGS})
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()

# hone_precompile_mlir(NAME HEADER [FLAGS flags...]): of HEADER, with MLIR and the
# dialects in it.
function(hone_precompile_mlir name header)
  hone_precompile(${name} ${header} LINK hone_compiler_options ${ARGN})
  if(HONE_PRECOMPILED)
    add_dependencies(${name} HoneInterfacesIncGen HoneIncGen HoneTileIncGen)
  endif()
endfunction()
foreach(name HonePrecompiled HoneTargetsPrecompiled HoneTestsPrecompiled)
  string(REPLACE Hone "" header ${name})
  hone_precompile_mlir(${name} ${header}.h)
endforeach()
# The precompiled header of the compiler's libraries; a folder may set another.
set(HONE_LIBRARIES_PRECOMPILED HonePrecompiled)

# hone_optimize(LEVEL FILES...): of a release of the compiler's half, or of tests.
# That the precompiled header has another level matters to no code in it.
function(hone_optimize level)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS
    "$<$<CONFIG:Release>:-O${level}>"
    "$<$<CXX_COMPILER_ID:Clang>:-Xclang;-fno-validate-pch>")
endfunction()

# hone_library(NAME sources... [WITHOUT_LLVM] [LINK libraries...]
#              [DEPENDS targets...])
function(hone_library name)
  cmake_parse_arguments(ARG "WITHOUT_LLVM" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  if(ARG_WITHOUT_LLVM)
    target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}")
  else()
    target_link_libraries(${name} PUBLIC hone_compiler_options)
    hone_reuse_precompiled(${name} ${HONE_LIBRARIES_PRECOMPILED})
  endif()
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# hone_tool(NAME sources... [PRECOMPILED] [LINK libraries...]): an executable in
# bin/; PRECOMPILED: one that includes MLIR.
function(hone_tool name)
  cmake_parse_arguments(ARG "PRECOMPILED" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  if(ARG_PRECOMPILED)
    hone_reuse_precompiled(${name} HonePrecompiled)
  endif()
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin"
    INSTALL_RPATH_USE_LINK_PATH ON) # LLVM's folder is no standard one
endfunction()

# Machines other than this one to build the runtime for. Clang compiles for all
# of them and ar packs any ELF object; only the machine's C++ library may be
# missing, which Debian has in g++-<machine>.
include(CheckCXXSourceCompiles)
set(HONE_CROSS_TRIPLES "")
foreach(triple aarch64-linux-gnu)
  if(triple MATCHES "^${CMAKE_SYSTEM_PROCESSOR}-")
    continue()
  endif()
  string(MAKE_C_IDENTIFIER "HONE_LINKS_${triple}" links)
  if(NOT ${links})
    unset(${links} CACHE) # it may have been installed since
  endif()
  set(CMAKE_REQUIRED_FLAGS "--target=${triple}")
  set(CMAKE_REQUIRED_LINK_OPTIONS "-fuse-ld=lld")
  check_cxx_source_compiles(
    "#include <string>\nint main(int n, char **v) { return std::string(*v).size(); }"
    ${links})
  unset(CMAKE_REQUIRED_FLAGS)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
  if(${links})
    list(APPEND HONE_CROSS_TRIPLES ${triple})
  else()
    message(STATUS "No runtime for ${triple}: needs clang as the compiler, lld "
                   "and g++-${triple}")
  endif()
endforeach()

# Static Linux programs and macOS: zig brings the libraries that a GNU system
# lacks. One version, because its objects are linked with its own C++ library;
# honec finds it beside the archives.
set(HONE_ZIG_VERSION 0.17.1)
find_program(HONE_ZIG zig
  PATHS "${PROJECT_SOURCE_DIR}/build/linker" NO_DEFAULT_PATH
  DOC "Zig ${HONE_ZIG_VERSION}, for programs of other C libraries")
if(HONE_ZIG)
  execute_process(COMMAND "${HONE_ZIG}" version
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(found STREQUAL HONE_ZIG_VERSION)
    set(HONE_ZIG_TRIPLES x86_64-linux-musl aarch64-linux-musl arm64-apple-macosx)
    file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/lib/linker")
    file(CREATE_LINK "${HONE_ZIG}" "${PROJECT_BINARY_DIR}/lib/linker/zig" SYMBOLIC)
    list(APPEND HONE_CROSS_TRIPLES ${HONE_ZIG_TRIPLES})
  else()
    message(STATUS "No runtime for static programs and macOS: expected zig "
                   "${HONE_ZIG_VERSION} but found '${found}'; ./dev linker")
  endif()
else()
  message(STATUS "No runtime for static programs and macOS: ./dev linker")
endif()

# hone_cross_flags(TRIPLE): FLAGS, LAUNCHER and SYSTEM of a cross triple. SYSTEM is
# CMake's name of the programs' system.
function(hone_cross_flags triple)
  set(FLAGS --target=${triple} PARENT_SCOPE)
  set(LAUNCHER "" PARENT_SCOPE)
  set(SYSTEM Linux PARENT_SCOPE)
  if(triple MATCHES "macosx$")
    set(FLAGS --target=aarch64-macos PARENT_SCOPE)
    set(SYSTEM Darwin PARENT_SCOPE)
  endif()
  if(triple IN_LIST HONE_ZIG_TRIPLES)
    set(LAUNCHER "${HONE_PRECOMPILED_HEADERS}/zig-c++;${HONE_ZIG}" PARENT_SCOPE)
  endif()
endfunction()

# The preset runtime-address takes none: its tests run for half a minute, and
# instrumented code takes three times as long to compile with it.
set(HONE_RUNTIME_OPTIMIZATION 2 CACHE STRING
    "Level of optimization of the runtime")

# hone_runtime_library(NAME sources... [LINK libraries...]): no exceptions, no
# RTTI, optimised even in Debug builds because it is linked into every training
# binary, and no fused a * b + c, so that all machines compute the same bits. For
# each cross triple there is another archive of the same name in lib/<triple>/.
# SYSTEM in a source's name is the system that the archive is for.
function(hone_runtime_library name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  foreach(triple "" ${HONE_CROSS_TRIPLES})
    set(target ${name})
    set(precompiled RuntimePrecompiled)
    set(flags -fno-exceptions -fno-rtti -O${HONE_RUNTIME_OPTIMIZATION}
        -ffp-contract=off)
    set(LAUNCHER "")
    set(SYSTEM ${CMAKE_SYSTEM_NAME})
    if(triple)
      set(target ${name}-${triple})
      set(precompiled ${precompiled}-${triple})
      hone_cross_flags(${triple})
      # No sanitizer runs under the emulator that the tests use.
      list(APPEND flags ${FLAGS} -fno-sanitize=all)
      set_property(GLOBAL APPEND PROPERTY HONE_CROSS_RUNTIMES ${target})
    endif()
    set(links ${ARG_LINK})
    if(triple)
      list(TRANSFORM links APPEND -${triple})
    endif()
    set(sources ${ARG_UNPARSED_ARGUMENTS})
    list(TRANSFORM sources REPLACE "SYSTEM" "${SYSTEM}")
    add_library(${target} STATIC ${sources})
    target_link_libraries(${target} PUBLIC hone_runtime_options ${links})
    target_compile_options(${target} PRIVATE ${flags})
    if(LAUNCHER)
      # Zig adds debug information by default.
      target_compile_options(${target} PRIVATE -g0)
      set_target_properties(${target} PROPERTIES
        CXX_COMPILER_LAUNCHER "${LAUNCHER}")
    else()
      if(HONE_PRECOMPILED AND NOT TARGET ${precompiled})
        hone_precompile(${precompiled} RuntimePrecompiled.h
          LINK hone_runtime_options FLAGS ${flags})
      endif()
      hone_reuse_precompiled(${target} ${precompiled})
    endif()
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name}
      ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/${triple}")
    set_property(GLOBAL APPEND PROPERTY HONE_RUNTIMES ${target})
    install(TARGETS ${target} COMPONENT hone
      ARCHIVE DESTINATION "lib/hone/${triple}")
  endforeach()
endfunction()

# hone_engine(NAME sources... [SHARED_CXX] [LINK libraries...]): lib/hone-exchange-NAME.so, which
# programs that bring no C++ library load.
function(hone_engine name)
  cmake_parse_arguments(ARG "SHARED_CXX" "" "LINK" ${ARGN})
  set(target hone_exchange_${name})
  add_library(${target} MODULE ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${target} PRIVATE
    "${PROJECT_SOURCE_DIR}/runtime/include")
  target_link_libraries(${target} PRIVATE ${ARG_LINK} Threads::Threads)
  target_compile_options(${target} PRIVATE -fvisibility=hidden)
  # A C++ library of its own, unless its dependencies have the system's.
  if(NOT ARG_SHARED_CXX)
    target_compile_options(${target} PRIVATE -fno-exceptions -fno-rtti)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc
      "LINKER:--exclude-libs,ALL")
  endif()
  set_target_properties(${target} PROPERTIES
    PREFIX "" OUTPUT_NAME hone-exchange-${name}
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
  set_property(GLOBAL APPEND PROPERTY HONE_ENGINES ${target})
  # Apart from the package, which would depend on an engine's dependencies.
  install(TARGETS ${target} COMPONENT hone-engines OPTIONAL
    LIBRARY DESTINATION lib/hone)
endfunction()

# hone_unit_test(NAME sources... [WITHOUT_LLVM] [LINK libraries...]): one
# GoogleTest program.
function(hone_unit_test name)
  cmake_parse_arguments(ARG "WITHOUT_LLVM" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  # A test spends its time in the code that it calls, and in being compiled.
  hone_optimize(0 ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} gtest gtest_main
                        Threads::Threads)
  if(NOT ARG_WITHOUT_LLVM)
    hone_reuse_precompiled(${name} HoneTestsPrecompiled)
  elseif(HONE_PRECOMPILED)
    if(NOT TARGET RuntimeTestsPrecompiled)
      hone_precompile(RuntimeTestsPrecompiled RuntimeTestsPrecompiled.h
        LINK hone_runtime_options gtest)
    endif()
    hone_reuse_precompiled(${name} RuntimeTestsPrecompiled)
  endif()
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test/unit")
  set_property(GLOBAL APPEND PROPERTY HONE_UNIT_TESTS ${name})
endfunction()
