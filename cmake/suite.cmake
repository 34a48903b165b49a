# The architecture, held by the build: ranked libraries, programs made of parts, and their tests.
include(GNUInstallDirs)

option(CONSORT_TESTS "build unit tests, fuzz corpora and checks" ON)
option(CONSORT_BENCH "build the benchmarks" OFF)
option(CONSORT_SANITIZE "address and undefined behaviour sanitizers" OFF)
option(CONSORT_FUZZ "libFuzzer targets instead of corpus runners (clang)" OFF)
option(CONSORT_WERROR "a warning stops the build" ON)
option(CONSORT_HARDEN "the flags of a release" OFF)
set(CONSORT_BWRAP "" CACHE STRING "the one path of bubblewrap, instead of the system's usual ones")

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_EXTENSIONS ON)
# C++ for the one library there is no C for (lib/toml).
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

# A compiler cache makes the second of several builds of one tree quick; nothing depends on it.
find_program(SUITE_CCACHE ccache)
mark_as_advanced(SUITE_CCACHE)
if(SUITE_CCACHE AND NOT DEFINED CMAKE_C_COMPILER_LAUNCHER)
	set(CMAKE_C_COMPILER_LAUNCHER ${SUITE_CCACHE})
	set(CMAKE_CXX_COMPILER_LAUNCHER ${SUITE_CCACHE})
endif()

# So does a quick linker, for builds that do not ship.
find_program(SUITE_MOLD mold)
mark_as_advanced(SUITE_MOLD)
if(SUITE_MOLD AND CMAKE_BUILD_TYPE STREQUAL "Debug" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
	add_link_options(-fuse-ld=mold)
endif()

add_library(suite_flags INTERFACE)
target_compile_options(suite_flags INTERFACE -Wall -Wextra -Wformat=2 -Wshadow
	$<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
	-Wpointer-arith -Wundef -Wvla -Wno-missing-field-initializers
	$<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions> $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>
	$<$<BOOL:${CONSORT_WERROR}>:-Werror> -fno-omit-frame-pointer -fstack-protector-strong)
# A library that nothing is used of is not loaded either: check.links counts on it.
target_link_options(suite_flags INTERFACE -Wl,--as-needed)
target_compile_definitions(suite_flags INTERFACE _GNU_SOURCE)
target_include_directories(suite_flags INTERFACE ${CMAKE_SOURCE_DIR}/lib ${CMAKE_SOURCE_DIR}
	${CMAKE_BINARY_DIR}/include)
if(CONSORT_HARDEN)
	target_compile_options(suite_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3
		-fstack-clash-protection -fcf-protection)
	if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
		target_compile_options(suite_flags INTERFACE -ftrivial-auto-var-init=zero)
	endif()
	target_link_options(suite_flags INTERFACE -pie -Wl,-z,relro,-z,now)
endif()

# Everything is built with the sanitizers but what runs inside a sandbox (no LeakSanitizer there).
add_library(suite_sanitize INTERFACE)
if(CONSORT_SANITIZE)
	target_compile_options(suite_sanitize INTERFACE -fsanitize=address,undefined
		-fno-sanitize-recover=undefined)
	target_link_options(suite_sanitize INTERFACE -fsanitize=address,undefined)
	target_compile_definitions(suite_sanitize INTERFACE CONSORT_SANITIZED=1)
endif()

file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/include/suite_config.h CONTENT [[
/* Made by CMake. */
#ifndef SUITE_CONFIG_H
#define SUITE_CONFIG_H
#define SUITE_VERSION "@CONSORT_VERSION@"
#define SUITE_BWRAP   "@CONSORT_BWRAP@"
#define SUITE_BIN     "@CMAKE_INSTALL_FULL_BINDIR@"
#define SUITE_LIBEXEC "@CMAKE_INSTALL_FULL_LIBEXECDIR@/consort"
#define SUITE_DRILLS  "@CMAKE_INSTALL_FULL_DATADIR@/consort/drills"
#endif
]] @ONLY)

# The oldest release of each library that is supported: what Debian 12 has. Configuring stops at an older one.
set(SUITE_MINIMUM_libuv 1.44.2)
set(SUITE_MINIMUM_sqlite3 3.40.1)
set(SUITE_MINIMUM_openssl 3.0)
set(SUITE_MINIMUM_libseccomp 2.5.4)
set(SUITE_MINIMUM_openssl 3.0)
set(SUITE_MINIMUM_zlib 1.2.13)
set(SUITE_MINIMUM_tomlplusplus 3.3.0)
set(SUITE_MINIMUM_cmocka 1.1.5)
set(SUITE_MINIMUM_jansson 2.14)

# pkg(NAME MODULE): a library of the system, found once, as target pkg_NAME.
function(pkg name module)
	if(NOT TARGET pkg_${name})
		set(wanted ${module})
		if(DEFINED SUITE_MINIMUM_${module})
			set(wanted "${module}>=${SUITE_MINIMUM_${module}}")
		endif()
		pkg_check_modules(PKG_${name} REQUIRED QUIET IMPORTED_TARGET GLOBAL ${wanted})
		add_library(pkg_${name} INTERFACE)
		target_link_libraries(pkg_${name} INTERFACE PkgConfig::PKG_${name})
		set_target_properties(pkg_${name} PROPERTIES EXPORT_NAME pkg_${name})
	endif()
endfunction()

# What every test runs with: the sanitizers strict and talkative, and no home it could write into.
set(SUITE_TEST_ENVIRONMENT
	"ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1:abort_on_error=0"
	"UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1"
	"HOME=/nonexistent")
set(SUITE_TEST_TIMEOUT_S 120 CACHE STRING "seconds one test may take")
mark_as_advanced(SUITE_TEST_TIMEOUT_S)

# suite_test(LABEL FILE LIBRARY...): one cmocka program, ctest name unit.LABEL.NAME.
function(suite_test label file)
	if(NOT CONSORT_TESTS OR CONSORT_FUZZ)
		return()
	endif()
	pkg(cmocka cmocka)
	get_filename_component(base ${file} NAME_WE)
	string(REGEX REPLACE "^test_" "" short ${base})
	set(target test_${label}_${short})
	add_executable(${target} ${file})
	target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/test)
	target_link_libraries(${target} PRIVATE suite_flags suite_sanitize ${ARGN} pkg_cmocka)
	set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
	add_test(NAME unit.${label}.${short} COMMAND ${target} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
	set_tests_properties(unit.${label}.${short} PROPERTIES LABELS unit TIMEOUT ${SUITE_TEST_TIMEOUT_S}
		ENVIRONMENT "${SUITE_TEST_ENVIRONMENT}")
endfunction()

# suite_library(NAME RANK N PURPOSE "..." SOURCES ... DEPENDS ... PKGS ... TESTS ...)
# A library of lib/. Its one public header is NAME.h; what it needs stands in DEPENDS, each of a
# lower rank, or configuring stops here. PKGS are targets made by pkg().
function(suite_library name)
	cmake_parse_arguments(PARSE_ARGV 1 L "" "RANK;PURPOSE" "SOURCES;DEPENDS;PKGS;TESTS")
	foreach(needed IN LISTS L_DEPENDS)
		get_property(rank GLOBAL PROPERTY suite_rank_${needed})
		if("${rank}" STREQUAL "")
			message(FATAL_ERROR "library ${name} depends on ${needed}, which is none or stands later")
		endif()
		if(NOT rank LESS L_RANK)
			message(FATAL_ERROR "library ${name} of rank ${L_RANK} depends on ${needed} of rank ${rank}")
		endif()
	endforeach()
	set_property(GLOBAL PROPERTY suite_rank_${name} ${L_RANK})
	set_property(GLOBAL APPEND PROPERTY suite_libraries ${name})
	set_property(GLOBAL PROPERTY suite_depends_${name} "${L_DEPENDS}")
	set_property(GLOBAL PROPERTY suite_purpose_${name} "${L_PURPOSE}")

	add_library(${name} STATIC ${L_SOURCES})
	target_sources(${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR}/lib FILES ${name}.h)
	set_target_properties(${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON OUTPUT_NAME consort_${name})
	target_link_libraries(${name} PUBLIC suite_flags suite_sanitize ${L_DEPENDS} PRIVATE ${L_PKGS})
	foreach(test IN LISTS L_TESTS)
		suite_test(${name} test/${test} ${name})
	endforeach()
endfunction()

# suite_program(NAME [OF PROGRAM] MAIN main.c SOURCES ... DEPENDS ... PKGS ...)
# A program: its sources as library NAME_parts, which its tests link too, and main.c. OF: the rest of
# another one, which it links what it shares with, that starts it from the libexec folder.
function(suite_program name)
	cmake_parse_arguments(P "" "MAIN;OF" "SOURCES;DEPENDS;PKGS" ${ARGN})
	set(owner ${name})
	set(place ${CMAKE_INSTALL_BINDIR})
	if(P_OF)
		set(owner ${P_OF})
		set(place ${CMAKE_INSTALL_LIBEXECDIR}/consort)
		list(APPEND P_DEPENDS ${P_OF}_parts)
		add_dependencies(${P_OF} ${name})
	else()
		set_property(GLOBAL APPEND PROPERTY suite_programs ${name})
	endif()
	set_property(GLOBAL APPEND PROPERTY suite_depends_${owner} "${P_DEPENDS}")
	add_library(${name}_parts STATIC ${P_SOURCES})
	target_link_libraries(${name}_parts PUBLIC suite_flags suite_sanitize ${P_DEPENDS} PRIVATE ${P_PKGS})
	add_executable(${name} ${P_MAIN})
	target_link_libraries(${name} PRIVATE ${name}_parts)
	install(TARGETS ${name} RUNTIME DESTINATION ${place})
endfunction()
