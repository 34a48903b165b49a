# The front door. Each target installs what it needs first, and says so (tools/need).
#
#	make            release binaries in build/release/bin/
#	make demo       the main job, shown on a small project (about a minute)
#	make check      every test and every check; ends with "N passed, N failed"
#	make bench      how fast it is here, beside its peers
#	make install    PREFIX=/usr/local DESTDIR=
#	make analyze    the path analysers, which take their time
#	make clean

PREFIX = /usr/local
DESTDIR =
export DESTDIR

release: need-build
	@tools/build release -DCMAKE_INSTALL_PREFIX="$(PREFIX)"

demo: need-demo
	@demo/can-confine
	@tools/build release -DCMAKE_INSTALL_PREFIX="$(PREFIX)"
	@demo/run

check: need-check
	@tools/run-checks

bench: need-bench
	@tools/build release -DCMAKE_INSTALL_PREFIX="$(PREFIX)" -DCONSORT_BENCH=ON
	@bench/run

install: need-install
	@tools/build release -DCMAKE_INSTALL_PREFIX="$(PREFIX)"
	@cmake --install build/release

analyze: need-analyze
	@tools/analyze

clean:
	rm -rf build

need-%:
	@tools/need $*

.PHONY: release demo check bench install analyze clean
