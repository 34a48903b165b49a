#ifndef AGENT_SERVE_DAEMON_H
#define AGENT_SERVE_DAEMON_H
/*
 * The daemon: one event loop that decides, a store that remembers. What `agent serve` runs.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/serve/bot_sockets.h"
#include "agent/io/listen.h"
#include "agent/io/provider.h"
#include "agent/io/store.h"
#include "agent/serve/companions.h"
#include "agent/serve/park.h"
#include "agent/serve/pause.h"
#include "agent/serve/models.h"
#include "agent/serve/publish.h"
#include "agent/serve/schedule.h"
#include "agent/serve/handles.h"
#include "agent/tool/tool.h"
#include "error/error.h"
#include "loop/loop.h"
#include "sandbox/sandbox.h"
#include "secret/secret.h"
#include "table/table.h"

extern const struct error_kind DAEMON_DRAINING; /* daemon_draining */

struct daemon_options {
	const char *store; /* canonical */
	const char *socket;
	const char *const *providers; /* specs */
	size_t provider_count;
	const char *const *walls;           /* canonical, NULL-terminated */
	const char *const *protected_paths; /* canonical, NULL-terminated */
	int64_t max_processes;              /* 0: no limit */
	int64_t max_active;
	int64_t max_pending, max_pending_bytes; /* 0: none */
	int64_t idle_exit_seconds;              /* 0: none */
	int64_t max_connecting;                 /* 0: none */
	int64_t stall_seconds;                  /* 0: the default */
};

struct daemon {
	const struct daemon_options *o;
	struct loop *loop;
	const struct clock *clock;
	struct store *store;
	int owner_fd; /* its lock, until it is open */
	struct providers *providers;
	struct fetch *fetch;
	struct fetch *pages; /* what web_fetch asks by */
	struct aws *aws;
	struct chatgpt *chatgpt;
	struct provider_net net; /* what providers over HTTP share */
	struct models models;
	struct sandbox *sandbox;
	struct secret_store *secret_store;
	struct secret_set *secrets;
	struct tool_host host;
	struct rulebook *rulebook;
	struct config *config;
	struct guard_id never[4];
	char *writer, *supervisor, *cell, *program, *itself;
	char *tmpdir; /* canonical $TMPDIR, or NULL */
	char **command_env;
	struct str temporary_items[2];
	struct str_list temporary; /* what every sandbox may write: /tmp and $TMPDIR */
	struct listen *listen;
	struct loop_listener *listener;
	struct bot_sockets bots;
	struct list sessions;
	size_t session_count;
	struct publisher pub;
	struct schedule sched;
	struct waiters waiters;
	struct parks parks;
	struct list leases; /* struct lease */
	size_t lease_count;
	struct pause pause;
	struct companions companions;
	struct list backgrounds; /* struct background */
	size_t background_count;
	struct table *live; /* name of a bot → struct live_turn */
	struct loop_timer *exit_timer, *idle_timer;
	struct loop_signal *sigterm, *sigint;
	bool draining; /* no turn starts */
	bool closing;  /* turns were told to stop */
	bool leaving;  /* the sessions are being let go */
};

/* Runs until shutdown, a signal or the idle limit. STORE_OWNED and LISTEN_OWNED when another daemon
 * has the store or the socket. */
int daemon_run(const struct daemon_options *o, struct error *err);
/* Stops accepting; no turn starts. Running ones go on for grace_ms, then are interrupted. */
void daemon_shutdown(struct daemon *d, int64_t grace_ms, const char *why);
/* A turn ended, a session left: whether to go now. */
void daemon_look_idle(struct daemon *d);

#endif
