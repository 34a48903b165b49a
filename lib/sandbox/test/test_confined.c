/*
 * Real commands under real bubblewrap: each trap of agent spec 7.3, each mask, each folder.
 *
 * Where the sandbox says itself that it is unavailable there is nothing to confine with, and every
 * test here says `not here`.
 */
#include <netinet/in.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "confined.h"

static int set_up(void **state)
{
	return set_up_in(state, "task");
}

static int set_up_odd(void **state)
{
	return set_up_in(state, "my work\n \"of\" $today");
}

static bool exists(const char *dir, const char *name)
{
	_cleanup_(mem) char *path = xasprintf("%s/%s", dir, name);
	struct stat st;

	return lstat(path, &st) == 0;
}

static void no_capability_is_left(void **state)
{
	static const char script[] =
		"grep CapEff /proc/self/status; grep CapPrm /proc/self/status;"
		"\"$TRY\" new-privileges; \"$TRY\" remount; \"$TRY\" unmount \"$WALL\";"
		"\"$TRY\" unmount /proc; \"$TRY\" write /proc/sys/kernel/domainname;"
		"unshare -Ur mount -o remount,rw / 2>/dev/null || echo nested refused";
	static const char expected[] = "CapEff:\t0000000000000000\nCapPrm:\t0000000000000000\n"
				       "EPERM\nEPERM\nEPERM\nEPERM\nEROFS\nnested refused\n";
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);

	if (geteuid() == 0)
		assert_says(w, &p, script, expected);
	p.mode = SANDBOX_READ_ONLY;
	p.network = true;
	if (geteuid() == 0)
		assert_says(w, &p, script, expected);
	assert_says(w, &p, "grep CapEff /proc/self/status; \"$TRY\" remount",
		"CapEff:\t0000000000000000\nEPERM\n");
}

static void writes_only_where_the_policy_says(void **state)
{
	static const char script[] = "for d in \"$WORK\" \"$T\" /tmp \"$OUT\" \"$HOME\" /var/tmp "
				     "/etc /usr \"$AGENT\" \"$KEPT\"; do "
				     "f=$d/consort-test-$$; (: >\"$f\") 2>/dev/null && echo yes && "
				     "rm \"$f\" || echo no; done";
	struct world *w = *state;
	const char *const roots[] = {w->outside, NULL};
	struct sandbox_policy p = world_policy(w);

	assert_says(w, &p, script, "yes\nyes\nyes\nno\nno\nno\nno\nno\nno\nno\n");
	p.writable_roots = roots;
	assert_says(w, &p, script, "yes\nyes\nyes\nyes\nno\nno\nno\nno\nno\nno\n");
	p.mode = SANDBOX_READ_ONLY;
	assert_says(w, &p, script, "no\nno\nno\nno\nno\nno\nno\nno\nno\nno\n");
}

static void reads_stay_open(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	_cleanup_(mem) char *secret = xasprintf("%s/env", w->agent);

	world_put(secret, "NAME=value\n");
	must(chmod(secret, 0600) == 0);
	assert_says(w, &p, "cat \"$AGENT/env\" \"$STORE\"", "NAME=value\nthe store\n");
	p.mode = SANDBOX_READ_ONLY;
	assert_says(w, &p, "cat \"$AGENT/env\" \"$STORE\"", "NAME=value\nthe store\n");
}

/* Trap 3 and AG-084 to AG-087, AG-224, AG-106: with the home itself writable. */
static void the_daemons_folder_stays_whatever_is_tried(void **state)
{
	static const char script[] =
		"cd \"$HOME\"; t() { \"$@\" 2>/dev/null && echo DID \"$@\"; };"
		"t sh -c 'echo x >>\"$STORE\"'; t sh -c ': >\"$STORE\"'; t rm \"$STORE\"; t "
		"truncate -s 0 \"$STORE\";"
		"t touch new; t mv new \"$STORE\"; t mv \"$STORE\" x; t touch \"$STORE-journal\";"
		"t touch \"$STORE-wal\"; t touch .agent/config.toml; t mv .agent y; t rmdir "
		".agent/run;"
		"t mv .agent/run z; t chmod 777 .agent; t touch .agent/run/x; t touch "
		"\"$SOCK.d/9\";"
		"t rm \"$SOCK\"; t mv \"$SOCK\" q; t chmod 777 \"$SOCK\"; t ln \"$STORE\" hard; t "
		"ln -f new \"$STORE\";"
		"t touch rules/x; t mv rules r; t rmdir rules; t ln -s /etc .agent/l; t touch "
		"mine; echo end";
	struct world *w = *state;
	const char *const roots[] = {w->home, NULL};
	struct sandbox_policy p = world_policy(w);
	_cleanup_(fd) int listener = -1;
	struct error err = ERROR_INIT;

	p.writable_roots = roots;
	assert_ok(os_listen_private(w->socket, &listener, &err), &err);
	assert_says(w, &p, script, "DID touch new\nDID touch mine\nend\n");
	assert_true(exists(w->home, "mine"));
	assert_false(exists(w->agent, "state.sqlite-wal"));
}

/* A protected folder in a folder that could be renamed away (trap 3), seen on the host afterwards.
 */
static void ancestors_of_what_is_protected_cannot_be_moved(void **state)
{
	struct world *w = *state;
	_cleanup_(mem) char *deep = world_folder(w->work, "a"), *deeper = world_folder(deep, "b");
	_cleanup_(mem) char *wall = world_folder(deeper, "wall");
	struct sandbox_policy p = world_policy(w);

	w->walls[0] = wall;
	sandbox_free(w->sandbox);
	w->sandbox = sandbox_new(&w->host);
	assert_says(w, &p,
		"mv a z 2>/dev/null && echo moved; mv a/b a/z 2>/dev/null && echo moved;"
		"mv a/b/wall a/z 2>/dev/null && echo moved; ls -A a/b/wall; echo x >a/b/f && cat "
		"a/b/f",
		"x\n");
	assert_true(exists(wall, "."));
}

static void protected_names_that_exist_stay_as_they_are(void **state)
{
	static const char *const names[] = {".git", ".agents", ".codex", ".aws"};
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		_cleanup_(mem) char *folder = world_folder(w->work, names[i]);
		_cleanup_(mem) char *file = xasprintf("%s/config", folder);

		world_put(file, "mine\n");
		must(setenv("N", names[i], 1) == 0);
		assert_says(w, &p,
			"t() { \"$@\" 2>/dev/null && echo DID \"$@\"; }; t touch $N/new; t rm "
			"$N/config;"
			"t mv $N x; t rm -r $N; t chmod 777 $N; t sh -c \"echo x >>$N/config\";"
			"t mkdir $N/sub; t ln $N/config hard; cat $N/config",
			"mine\n");
	}
}

static void protected_names_cannot_be_made_and_leave_nothing(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);

	assert_says(w, &p,
		"t() { \"$@\" 2>/dev/null && echo DID \"$@\"; }; mkdir d; : >f;"
		"for n in .git .agents .codex; do t mkdir $n; t touch $n; t ln -s d $n; t mv -T d "
		"$n;"
		"t mv f $n; t sh -c \"echo >$n\"; t touch $n/x; t rmdir $n; done;"
		"t mkdir .aws; t touch .aws/config; echo end",
		"DID mkdir .aws\nDID touch .aws/config\nend\n");
	assert_false(exists(w->work, ".git"));
	assert_false(exists(w->work, ".agents"));
	assert_false(exists(w->work, ".codex"));
	assert_false(exists(w->tmp, ".git"));
	assert_true(exists(w->work, "d") && exists(w->work, ".aws"));
}

static void bubblewrap_itself_is_kept(void **state)
{
	__attribute__((cleanup(guard_path_cleanup))) struct guard_path at = {0};
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	_cleanup_(mem) char *folder = NULL;
	const char *roots[] = {NULL, NULL};
	struct error err = ERROR_INIT;
	enum sandbox_place place;

	must(guard_resolve("/", str_from(w->sandbox->program), &at, NULL) == 0);
	folder = xstrndup(at.real, (size_t)(strrchr(at.real, '/') - at.real));
	roots[0] = folder;
	p.writable_roots = roots;
	assert_ok(sandbox_place(w->sandbox, &p, &at, &place, &err), &err);
	assert_int_equal(place, SANDBOX_PROTECTED);
}

static void a_wall_is_an_empty_folder(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	_cleanup_(mem) char *file = xasprintf("%s/file", w->wall);
	static const char script[] = "ls -A \"$WALL\" \"$SOCK.d\"; cat \"$WALL/file\" 2>/dev/null; "
				     "touch \"$WALL/x\" \"$SOCK.d/x\" 2>/dev/null; ls -A "
				     "\"$WALL\"; \"$TRY\" unmount \"$WALL\"";
	_cleanup_(mem) char *expected = xasprintf("%s:\n\n%s:\nEPERM\n", w->wall, w->bot_sockets);

	world_put(file, "hidden");
	assert_says(w, &p, script, expected);
	p.mode = SANDBOX_READ_ONLY;
	p.network = true;
	assert_says(w, &p, script, expected);
}

static int listen_abstract(const char *name)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t len = strlen(name);

	must(fd >= 0 && len < sizeof(addr.sun_path));
	memcpy(addr.sun_path, name, len);
	addr.sun_path[0] = '\0';
	must(bind(fd, (struct sockaddr *)&addr,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) == 0);
	must(listen(fd, 8) == 0);
	return fd;
}

static int listen_port(int *ret_port)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must(fd >= 0 && bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0);
	must(listen(fd, 8) == 0 && getsockname(fd, (struct sockaddr *)&addr, &len) == 0);
	*ret_port = ntohs(addr.sin_port);
	return fd;
}

/* Trap 2, AG-091 to AG-100. */
static void sockets_are_reached_as_the_policy_says(void **state)
{
	static const char script[] =
		"\"$TRY\" connect \"$SOCK\"; \"$TRY\" connect \"$SOCK.d/7\"; \"$TRY\" connect "
		"\"$WALL/s\";"
		"\"$TRY\" connect \"$OUT/s\"; \"$TRY\" connect \"$ABSTRACT\"; \"$TRY\" port $PORT;"
		"\"$TRY\" bind \"$SOCK\"; \"$TRY\" bind \"$SOCK.d/7\"; \"$TRY\" bind \"$WORK/s\"";
	static const struct {
		bool network, any_unix_socket;
		const char *expected;
	} rows[] = {
		{false, false, "EPERM\nEPERM\nEPERM\nEPERM\nEPERM\nEPERM\nEPERM\nEPERM\nEPERM\n"  },
		{false, true,
                 "ECONNREFUSED\nENOENT\nENOENT\nOK\nECONNREFUSED\nEPERM\nEADDRINUSE\nEROFS\n"
			"OK\n"								    },
		{true,  false, "ECONNREFUSED\nENOENT\nENOENT\nOK\nOK\nOK\nEADDRINUSE\nEROFS\nOK\n"},
	};
	struct world *w = *state;
	_cleanup_(mem) char *bot = xasprintf("%s/7", w->bot_sockets),
			    *walled = xasprintf("%s/s", w->wall);
	_cleanup_(mem) char *open_one = xasprintf("%s/s", w->outside),
			    *own = xasprintf("%s/s", w->work);
	_cleanup_(mem) char *abstract = xasprintf("@consort-test-%d", (int)getpid());
	const char *const paths[] = {w->socket, bot, walled, open_one};
	int fds[ARRAY_LEN(paths)], abstract_fd, port_fd, port;
	_cleanup_(mem) char *port_text = NULL;

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		must(os_listen_private(paths[i], &fds[i], NULL) == 0);
	abstract_fd = listen_abstract(abstract);
	port_fd = listen_port(&port);
	port_text = xasprintf("%d", port);
	must(setenv("ABSTRACT", abstract, 1) == 0 && setenv("PORT", port_text, 1) == 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sandbox_policy p = world_policy(w);

		p.network = rows[i].network;
		p.any_unix_socket = rows[i].any_unix_socket;
		assert_says(w, &p, script, rows[i].expected);
		(void)unlink(own); /* the one it may make */
	}
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		os_close(fds[i]);
	os_close(abstract_fd);
	os_close(port_fd);
}

/* AG-055, AG-056, AG-087, AG-098: of all bots' sockets it sees its own, and can only connect to it.
 */
static void a_bot_sees_its_own_socket_alone(void **state)
{
	static const char script[] =
		"ls -A \"$SOCK.d\"; \"$TRY\" connect \"$SOCK.d/7\"; \"$TRY\" connect \"$SOCK.d/8\";"
		"\"$TRY\" bind \"$SOCK.d/7\"; \"$TRY\" bind \"$SOCK.d/8\"; rm -f \"$SOCK.d/7\" "
		"2>/dev/null || echo stays; mv \"$SOCK.d/7\" \"$SOCK.d/8\" 2>/dev/null || echo "
		"stays;"
		"mv \"$SOCK.d\" \"$SOCK.e\" 2>/dev/null || echo stays; chmod 777 \"$SOCK.d/7\" "
		"2>/dev/null || echo stays; ls -A \"$SOCK.d\"";
	static const struct {
		bool network, any_unix_socket;
		const char *expected;
	} rows[] = {
		{false, true,  "7\nOK\nENOENT\nEADDRINUSE\nEROFS\nstays\nstays\nstays\nstays\n7\n"},
		{true,  false, "7\nOK\nENOENT\nEADDRINUSE\nEROFS\nstays\nstays\nstays\nstays\n7\n"},
		{false, false, "7\nEPERM\nEPERM\nEPERM\nEPERM\nstays\nstays\nstays\nstays\n7\n"   },
	};
	struct world *w = *state;
	_cleanup_(mem) char *own = xasprintf("%s/7", w->bot_sockets),
			    *other = xasprintf("%s/8", w->bot_sockets);
	_cleanup_(fd) int own_fd = -1, other_fd = -1;

	must(os_listen_private(own, &own_fd, NULL) == 0);
	must(os_listen_private(other, &other_fd, NULL) == 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sandbox_policy p = world_policy(w);

		p.network = rows[i].network;
		p.any_unix_socket = rows[i].any_unix_socket;
		p.own_socket = own;
		assert_says(w, &p, script, rows[i].expected);
		p.mode = SANDBOX_READ_ONLY;
		assert_says(w, &p, script, rows[i].expected);
	}
}

/* Trap 5: the socket is carried into a writable folder by no hard link. */
static void nothing_read_only_is_linked_into_a_writable_folder(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	_cleanup_(fd) int listener = -1;

	must(os_listen_private(w->socket, &listener, NULL) == 0);
	assert_says(w, &p,
		"ln \"$SOCK\" s 2>&1 | grep -o 'Invalid cross-device link'; "
		"ln \"$STORE\" db 2>&1 | grep -o 'Invalid cross-device link'",
		"Invalid cross-device link\nInvalid cross-device link\n");
}

/* Trap 8 and the other namespaces: neither the daemon nor what it shares is seen. */
static void the_host_is_not_seen(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	_cleanup_(mem) char *pid = xasprintf("%d", (int)getpid());
	_cleanup_(mem) char *key = xasprintf("%d", 0x5a000000 | (int)getpid());
	int segment = shmget(0x5a000000 | (int)getpid(), 1, IPC_CREAT | IPC_EXCL | 0600);

	must(segment >= 0 && setenv("DAEMON", pid, 1) == 0 && setenv("KEY", key, 1) == 0);
	assert_says(w, &p,
		"test -e /proc/$DAEMON || echo no daemon; \"$TRY\" signal $DAEMON;"
		"\"$TRY\" shared-memory $KEY; \"$TRY\" descriptors; \"$TRY\" push-input; "
		"\"$TRY\" uring",
		"no daemon\nESRCH\nENOENT\nEBADF\nEPERM\nEPERM\n");
	must(shmctl(segment, IPC_RMID, NULL) == 0);
}

static void odd_names_are_names(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);

	assert_says(w, &p,
		"test \"$PWD\" = \"$WORK\" && echo x >f && cat f; touch .git/x 2>/dev/null || echo "
		"no",
		"x\nno\n");
	assert_true(exists(w->work, "f"));
	assert_false(exists(w->work, ".git"));
}

/* A workspace that is /tmp itself, and one in it. */
static void tmp_as_a_workspace(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	_cleanup_(mem) char *inner = NULL;

	p.workspace = "/tmp";
	assert_says(w, &p,
		"pwd; f=consort-test-$$; echo x >$f && cat $f && rm $f; touch .git/x 2>/dev/null "
		"|| echo no",
		"/tmp\nx\nno\n");
	must(os_temp_dir("/tmp/consort-test-", &inner, NULL) == 0);
	p.workspace = inner;
	assert_says(w, &p,
		"echo x >f && cat f; touch .git/x 2>/dev/null || echo no; mv \"$PWD\" /tmp/z "
		"2>/dev/null || echo no",
		"x\nno\nno\n");
	must(os_remove_tree(inner, NULL) == 0);
}

static void a_workspace_in_shared_memory(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	_cleanup_(mem) char *dir = NULL;

	if (os_temp_dir("/dev/shm/consort-test-", &dir, NULL) < 0)
		skip(); /* not here: no tmpfs at /dev/shm that we may write */
	p.workspace = dir;
	assert_says(w, &p, "echo x >f && cat f; touch .git/x 2>/dev/null || echo no", "x\nno\n");
	p.mode = SANDBOX_READ_ONLY;
	assert_says(w, &p, "cat f; touch g 2>/dev/null || echo no", "x\nno\n");
	must(os_remove_tree(dir, NULL) == 0);
}

/* HOME reached by a link: what it means is protected under its real name. */
static void a_home_behind_a_link(void **state)
{
	struct world *w = *state;
	const char *const roots[] = {w->home, NULL};
	struct sandbox_policy p = world_policy(w);
	_cleanup_(mem) char *link = xasprintf("%s/home-link", w->dir);
	_cleanup_(mem) char *store = xasprintf("%s/elsewhere.sqlite", w->outside);

	must(symlink("home", link) == 0 && setenv("HOME", link, 1) == 0);
	w->host.store = store; /* so that ~/.agent is kept for its own sake alone */
	sandbox_free(w->sandbox);
	w->sandbox = sandbox_new(&w->host);
	p.writable_roots = roots;
	assert_says(w, &p,
		"touch \"$HOME/.agent/x\" 2>/dev/null || echo no; mv \"$HOME/.agent\" \"$HOME/y\" "
		"2>/dev/null || echo no;"
		"touch \"$HOME/z\" && echo yes",
		"no\nno\nyes\n");
}

/* Between the check and the mount a link takes the folder's place: the mount does not follow it. */
static void a_root_swapped_for_a_link_leads_nowhere(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	_cleanup_(mem) char *moved = xasprintf("%s/moved", w->home);
	struct error err = ERROR_INIT;
	_cleanup_(mem) char *said = NULL;
	struct job j;
	int status;

	assert_ok(job_prepare(&j, w, &p, "echo x >f", &err), &err);
	must(rename(w->work, moved) == 0 && symlink("../outside", w->work) == 0);
	job_spawn(&j);
	said = job_finish(&j, &status);
	assert_int_not_equal(status, 0);
	assert_false(exists(w->outside, "f"));
	assert_false(exists(moved, ".git")); /* the placeholder went, wherever it is by now */
	must(unlink(w->work) == 0 && rename(moved, w->work) == 0);
}

static void commands_at_the_same_time_do_not_disturb_each_other(void **state)
{
	enum { JOBS = 8 };
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	struct error err = ERROR_INIT;
	struct job jobs[JOBS];

	for (size_t i = 0; i < JOBS; i++)
		assert_ok(job_prepare(&jobs[i], w, &p,
				  "grep Seccomp: /proc/self/status; touch .git/x 2>/dev/null || "
				  "echo no",
				  &err),
			&err);
	for (size_t i = 0; i < JOBS; i++)
		job_spawn(&jobs[i]);
	for (size_t i = 0; i < JOBS; i++) {
		_cleanup_(mem) char *said = NULL;
		int status;

		assert_true(exists(w->work, ".git"));
		said = job_finish(&jobs[i], &status);
		assert_string_equal(said, "Seccomp:\t2\nno\n");
	}
	assert_false(exists(w->work, ".git"));
}

static void a_folder_that_vanished_fails_the_call(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	struct error err = ERROR_INIT;
	struct job j;

	must(rmdir(w->work) == 0);
	assert_fails(job_prepare(&j, w, &p, "true", &err), &err, SANDBOX_ROOT_MISSING);
	must(mkdir(w->work, 0755) == 0);
}

/* What people build with goes on working, with the network off. */
static void build_tools_work(void **state)
{
	static const struct {
		const char *program, *script, *expected;
	} rows[] = {
		{"/bin/bash",        "bash -c 'cat <(echo a) | sort; (sleep 0 & wait); echo $((1+1))'",
                 "a\n2\n"												 },
		{"/usr/bin/gcc",
                 "echo 'int main(void){return 7;}' >a.c && gcc a.c -o a; ./a; echo $?",                 "7\n"             },
		{"/usr/bin/make",
                 "printf 'x y z:\\n\\t@echo $@ >$@\\nall: x y z\\n' >Makefile; make -j3 all "
			"&& cat x y z",								 "x\ny\nz\n"       },
		{"/usr/bin/git",
                 "mkdir r && cd r && git status 2>&1 | grep -c 'not a git'; cd .. && git "
			"--version | cut -c1-11",						       "1\ngit version\n"},
		{"/usr/bin/python3",
                 "python3 -c 'import subprocess, threading, multiprocessing as m;"
			"t = threading.Thread(target=lambda: print(1)); t.start(); t.join();"
			"print(subprocess.check_output([\"echo\", \"2\"]).decode().strip());"
			"p = m.Process(target=print, args=(3,)); p.start(); p.join()'",                 "1\n2\n3\n"       },
		{"/usr/bin/python3",
                 "python3 -m venv --without-pip v && v/bin/python -c 'print(4)'",                       "4\n"             },
		{"/usr/bin/node",
                 "node -e 'require(\"child_process\").execFile(process.execPath,"
			"[\"-p\", \"1+1\"], (e, out) => console.log(out.trim()))'",                     "2\n"             },
	};
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (access(rows[i].program, X_OK) == 0)
			assert_says(w, &p, rows[i].script, rows[i].expected);
	}
}

/* A workspace below a repository: git finds the one above past the placeholder. */
static void git_looks_past_a_placeholder(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	_cleanup_(mem) char *sub = NULL;

	if (access("/usr/bin/git", X_OK) != 0)
		skip();
	must(setenv("GIT_CONFIG_NOSYSTEM", "1", 1) == 0);
	p.network = true; /* of no matter */
	p.workspace = w->outside;
	{
		const char *const args[] = {"git", "init", "-q", w->outside, NULL};
		pid_t pid;
		int status;

		must(posix_spawn(&pid, "/usr/bin/git", NULL, NULL, (char *const *)args, environ) ==
			0);
		must(waitpid(pid, &status, 0) == pid && status == 0);
	}
	sub = world_folder(w->outside, "sub");
	p.workspace = sub;
	assert_says(w, &p, "echo x >f; git status --porcelain; git rev-parse --show-prefix",
		"?? sub/\nsub/\n");
	p.workspace = w->outside;
	assert_says(w, &p, "git status --porcelain; git config user.name x 2>/dev/null || echo no",
		"?? sub/\nno\n");
}

/* The same as a normal user, when the tests run as root. */
static void a_normal_user_is_confined_likewise(void **state)
{
	enum { NOBODY = 65534 };
	pid_t pid;
	int status;

	(void)state;
	if (geteuid() != 0)
		skip(); /* every other test is this one */
	pid = fork();
	if (pid == 0) {
		struct world *w;
		struct sandbox_policy p;
		_cleanup_(mem) char *said = NULL;

		if (setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0)
			_exit(1);
		w = world_new("task");
		export_names(w);
		w->sandbox = sandbox_new(&w->host);
		if (sandbox_available(w->sandbox, NULL) < 0)
			_exit(2); /* this kernel lets only root: not here */
		p = world_policy(w);
		said = run(w, &p,
			"id -u; grep CapEff /proc/self/status; echo x >f && cat f; touch .git/x "
			"2>/dev/null || echo no;"
			"touch \"$HOME/x\" 2>/dev/null || echo no; mkdir .codex 2>/dev/null || "
			"echo no",
			NULL);
		status = strcmp(said, "65534\nCapEff:\t0000000000000000\nx\nno\nno\nno\n") == 0 ? 0
												: 3;
		status = exists(w->work, ".git") ? 4 : status;
		world_free(w);
		_exit(status);
	}
	must(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	if (WEXITSTATUS(status) == 2)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(no_capability_is_left),
		WITH_WORLD(writes_only_where_the_policy_says),
		WITH_WORLD(reads_stay_open),
		WITH_WORLD(the_daemons_folder_stays_whatever_is_tried),
		WITH_WORLD(ancestors_of_what_is_protected_cannot_be_moved),
		WITH_WORLD(protected_names_that_exist_stay_as_they_are),
		WITH_WORLD(protected_names_cannot_be_made_and_leave_nothing),
		WITH_WORLD(bubblewrap_itself_is_kept),
		WITH_WORLD(a_wall_is_an_empty_folder),
		WITH_WORLD(sockets_are_reached_as_the_policy_says),
		WITH_WORLD(a_bot_sees_its_own_socket_alone),
		WITH_WORLD(nothing_read_only_is_linked_into_a_writable_folder),
		WITH_WORLD(the_host_is_not_seen),
		cmocka_unit_test_setup_teardown(odd_names_are_names, set_up_odd, tear_down),
		WITH_WORLD(tmp_as_a_workspace),
		WITH_WORLD(a_workspace_in_shared_memory),
		WITH_WORLD(a_home_behind_a_link),
		WITH_WORLD(a_root_swapped_for_a_link_leads_nowhere),
		WITH_WORLD(commands_at_the_same_time_do_not_disturb_each_other),
		WITH_WORLD(a_folder_that_vanished_fails_the_call),
		WITH_WORLD(build_tools_work),
		WITH_WORLD(git_looks_past_a_placeholder),
		WITH_WORLD(a_normal_user_is_confined_likewise),
	};

	if (!confined_is_here())
		return 0;
	return cmocka_run_group_tests_name("sandbox.confined", tests, NULL, NULL);
}
