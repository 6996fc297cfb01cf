/*
 * Carries out what a Go test asks of ZooKeeper's C client, one request after the other.
 *
 * A request is a line "tag, target, verb, arguments", separated by tabs; its answer is "tag, ok, values" or "tag, err, name". The
 * client library has no recipes.
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

static void watcher(zhandle_t *handle, int type, int state, const char *path, void *context) {
	struct session *s = context;
	(void)handle, (void)path;
	if (type != ZOO_SESSION_EVENT || state != ZOO_CONNECTED_STATE) return;
	pthread_mutex_lock(&out);
	s->connected = 1;
	pthread_cond_broadcast(&connected);
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
		printf("%s\terr\t%s\n", tag, zerror(code));
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

static int call(struct session *s, const char *verb, char **a, char *values) {
	if (strcmp(verb, "create") == 0)
		return zoo_create(s->handle, a[0], a[1], strlen(a[1]), &ZOO_OPEN_ACL_UNSAFE, strcmp(a[2], "e") ? 0 : ZOO_EPHEMERAL, values, BUFFER);
	if (strcmp(verb, "delete") == 0) return zoo_delete(s->handle, a[0], atoi(a[1]));
	if (strcmp(verb, "id") == 0) {
		snprintf(values, BUFFER, "0x%llx", (long long)zoo_client_id(s->handle)->client_id);
		return ZOK;
	}
	if (strcmp(verb, "close") == 0) {
		int code = zookeeper_close(s->handle);
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
			answer(words[0], call(s, words[2], words + 3, values), values);
		else
			answer(words[0], ZBADARGUMENTS, values);
	}
	_Exit(0); /* the test is over: nothing is worth waiting for */
}
