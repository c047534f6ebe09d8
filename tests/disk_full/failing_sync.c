// While the file named by FAILS_WHILE exists, the database cannot be synced, as on a disk that breaks; its log can. Each descriptor fails
// once, as on Linux.
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int has_failed[1024];

static int is_database(int descriptor) {
    char link[64], path[4096];
    const char *database = "/deskpass.db";
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < (ssize_t)strlen(database)) return 0;
    path[length] = 0;
    return strcmp(path + length - strlen(database), database) == 0;
}

static int sync_by(long call, int descriptor) {
    const char *while_exists = getenv("FAILS_WHILE");
    int fails = while_exists != NULL && is_database(descriptor) && access(while_exists, F_OK) == 0;
    if (!fails || atomic_exchange(&has_failed[descriptor % 1024], 1))
        return (int)syscall(call, descriptor);
    errno = EIO;
    return -1;
}

int fdatasync(int descriptor) { return sync_by(SYS_fdatasync, descriptor); }
int fsync(int descriptor) { return sync_by(SYS_fsync, descriptor); }
