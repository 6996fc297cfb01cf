/*
 * Carries out what a Go test asks of ZooKeeper's C client, one request after the other.
 *
 * A request is a line "tag, target, verb, arguments", separated by tabs; its answer is "tag, ok, values" or "tag, err, name". What happens unasked is told
 * as "!, target, kind, text". The client library has no recipes.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

enum { SESSIONS = 64, WORDS = 32, BUFFER = 1 << 16 };

struct session {
	char name[32];
	zhandle_t *handle;
	int connected;
};

static struct session sessions[SESSIONS];
static pthread_mutex_t out = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t connected = PTHREAD_COND_INITIALIZER;

static const char *name_of(int code) {
	switch (code) {
	case ZOK: return "done";
	case ZNONODE: return "ZNONODE";
	case ZNODEEXISTS: return "ZNODEEXISTS";
	case ZBADVERSION: return "ZBADVERSION";
	case ZNOTEMPTY: return "ZNOTEMPTY";
	case ZNOCHILDRENFOREPHEMERALS: return "ZNOCHILDRENFOREPHEMERALS";
	case ZRUNTIMEINCONSISTENCY: return "ZRUNTIMEINCONSISTENCY";
	case ZSESSIONEXPIRED: return "ZSESSIONEXPIRED";
	case ZCONNECTIONLOSS: return "ZCONNECTIONLOSS";
	case ZINVALIDSTATE: return "ZINVALIDSTATE";
	case ZBADARGUMENTS: return "ZBADARGUMENTS";
	default: return zerror(code);
	}
}

static const char *state_name(int state) {
	if (state == ZOO_CONNECTED_STATE) return "connected";
	if (state == ZOO_EXPIRED_SESSION_STATE) return "expired";
	return "disconnected";
}

static const char *event_name(int type) {
	if (type == ZOO_CREATED_EVENT) return "created";
	if (type == ZOO_DELETED_EVENT) return "deleted";
	if (type == ZOO_CHANGED_EVENT) return "changed";
	if (type == ZOO_CHILD_EVENT) return "child";
	return "other";
}

static void watcher(zhandle_t *handle, int type, int state, const char *path, void *context) {
	struct session *s = context;
	(void)handle;
	pthread_mutex_lock(&out);
	if (type != ZOO_SESSION_EVENT) {
		printf("!\t%s\twatch\t%s %s\n", s->name, event_name(type), path);
	} else if (state == ZOO_CONNECTED_STATE && !s->connected) {
		s->connected = 1; /* the first time is what open answers */
		pthread_cond_broadcast(&connected);
	} else {
		printf("!\t%s\tstate\t%s\n", s->name, state_name(state));
	}
	fflush(stdout);
	pthread_mutex_unlock(&out);
}

static struct session *find(const char *name) {
	for (int i = 0; i < SESSIONS; i++)
		if (strcmp(sessions[i].name, name) == 0) return &sessions[i];
	return NULL;
}

/* answer writes one line: the values, or the name of what went wrong. */
static void answer(const char *tag, int code, const char *values) {
	pthread_mutex_lock(&out);
	if (code == ZOK)
		printf("%s\tok%s%s\n", tag, *values ? "\t" : "", values);
	else
		printf("%s\terr\t%s%s\n", tag, name_of(code), values);
	fflush(stdout);
	pthread_mutex_unlock(&out);
}

static int open_session(const char *name, const char *address, int timeout) {
	struct session *s = find("");
	if (!s) return ZBADARGUMENTS;
	snprintf(s->name, sizeof s->name, "%s", name);
	s->connected = 0;
	s->handle = zookeeper_init(address, watcher, timeout, NULL, s, 0);
	if (!s->handle) return ZSYSTEMERROR;
	pthread_mutex_lock(&out);
	while (!s->connected) pthread_cond_wait(&connected, &out);
	pthread_mutex_unlock(&out);
	return ZOK;
}

static int flags_of(const char *mode) {
	if (strcmp(mode, "c") == 0) return ZOO_CONTAINER;
	return (strchr(mode, 'e') ? ZOO_EPHEMERAL : 0) | (strchr(mode, 's') ? ZOO_SEQUENCE : 0);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static int children(struct session *s, const char *path, int watch, char *values) {
	struct String_vector names;
	int code = zoo_get_children(s->handle, path, watch, &names);
	if (code != ZOK) return code;
	qsort(names.data, names.count, sizeof *names.data, by_name);
	for (int i = 0; i < names.count; i++) {
		if (i) strcat(values, ",");
		strncat(values, names.data[i], BUFFER - strlen(values) - 2);
	}
	deallocate_String_vector(&names);
	return ZOK;
}

/* multi takes operations as "create /path data", "set /path data version", "check /path version", "delete /path version". */
static int multi(struct session *s, char **args, int count, char *values) {
	zoo_op_t ops[WORDS] = {{0}};
	zoo_op_result_t results[WORDS];
	static char paths[WORDS][256];
	static struct Stat stats[WORDS];
	for (int i = 0; i < count; i++) {
		char *rest = args[i], *verb = strsep(&rest, " "), *path = strsep(&rest, " "), *third = strsep(&rest, " ");
		if (strcmp(verb, "create") == 0)
			zoo_create_op_init(&ops[i], path, third, strlen(third), &ZOO_OPEN_ACL_UNSAFE, 0, paths[i], sizeof paths[i]);
		else if (strcmp(verb, "set") == 0)
			zoo_set_op_init(&ops[i], path, third, strlen(third), atoi(strsep(&rest, " ")), &stats[i]);
		else if (strcmp(verb, "check") == 0)
			zoo_check_op_init(&ops[i], path, atoi(third));
		else
			zoo_delete_op_init(&ops[i], path, atoi(third));
	}
	int code = zoo_multi(s->handle, count, ops, results);
	for (int i = 0; i < count; i++) {
		if (i || code != ZOK) strcat(values, i ? "," : " ");
		strcat(values, name_of(results[i].err));
	}
	return code;
}

static int call(struct session *s, const char *verb, char **a, int count, char *values) {
	static char data[BUFFER];
	struct Stat stat;
	int length = sizeof data - 1, watch = count > 1, code;
	if (strcmp(verb, "create") == 0)
		return zoo_create(s->handle, a[0], a[1], strlen(a[1]), &ZOO_OPEN_ACL_UNSAFE, flags_of(a[2]), values, BUFFER);
	if (strcmp(verb, "get") == 0) {
		code = zoo_get(s->handle, a[0], watch, data, &length, &stat);
		if (code == ZOK) snprintf(values, BUFFER, "%.*s\tv%d", length < 0 ? 0 : length, data, stat.version);
		return code;
	}
	if (strcmp(verb, "set") == 0) {
		code = zoo_set2(s->handle, a[0], a[1], strlen(a[1]), atoi(a[2]), &stat);
		if (code == ZOK) snprintf(values, BUFFER, "v%d", stat.version);
		return code;
	}
	if (strcmp(verb, "delete") == 0) return zoo_delete(s->handle, a[0], atoi(a[1]));
	if (strcmp(verb, "exists") == 0) {
		code = zoo_exists(s->handle, a[0], watch, &stat);
		if (code == ZNONODE) {
			strcpy(values, "no");
			return ZOK;
		}
		if (code == ZOK) snprintf(values, BUFFER, "v%d", stat.version);
		return code;
	}
	if (strcmp(verb, "children") == 0) return children(s, a[0], watch, values);
	if (strcmp(verb, "multi") == 0) return multi(s, a, count, values);
	if (strcmp(verb, "id") == 0) {
		snprintf(values, BUFFER, "0x%llx", (long long)zoo_client_id(s->handle)->client_id);
		return ZOK;
	}
	if (strcmp(verb, "close") == 0) {
		code = zookeeper_close(s->handle);
		s->name[0] = 0;
		return code;
	}
	return ZUNIMPLEMENTED;
}

int main(void) {
	static char line[BUFFER], values[BUFFER];
	zoo_set_debug_level(0);
	while (fgets(line, sizeof line, stdin)) {
		char *words[WORDS] = {0}, *rest = line;
		int count = 0;
		line[strcspn(line, "\n")] = 0;
		for (char *w; count < WORDS && (w = strsep(&rest, "\t"));) words[count++] = w;
		if (count < 3) continue;
		struct session *s = find(words[1]);
		values[0] = 0;
		if (strcmp(words[2], "open") == 0) /* client, address, session timeout in ms */
			answer(words[0], open_session(words[1], words[4], atoi(words[5])), values);
		else if (s)
			answer(words[0], call(s, words[2], words + 3, count - 3, values), values);
		else
			answer(words[0], ZBADARGUMENTS, values);
	}
	_Exit(0); /* the test is over: nothing is worth waiting for */
}
