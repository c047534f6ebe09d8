// While the file named by FAILS_WHILE exists, the database cannot be synced, as on a disk that breaks; its log can.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_broken(int descriptor) {
    char link[64], path[4096];
    const char *database = "/deskpass.db", *while_exists = getenv("FAILS_WHILE");
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < (ssize_t)strlen(database) || while_exists == NULL || access(while_exists, F_OK) != 0) return 0;
    path[length] = 0;
    return strcmp(path + length - strlen(database), database) == 0;
}

static int sync_by(long call, int descriptor) {
    if (!is_broken(descriptor)) return (int)syscall(call, descriptor);
    errno = EIO;
    return -1;
}

int fdatasync(int descriptor) { return sync_by(SYS_fdatasync, descriptor); }
int fsync(int descriptor) { return sync_by(SYS_fsync, descriptor); }
