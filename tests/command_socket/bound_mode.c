// Lets every user in by the umask, and appends the mode that a socket in the file system has at the moment of its bind to the file
// named by BOUND_MODES.
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

__attribute__((constructor)) static void let_everyone_in(void) { umask(0); }

int bind(int descriptor, const struct sockaddr *address, socklen_t length) {
    int result = (int)syscall(SYS_bind, descriptor, address, length);
    const char *path = ((const struct sockaddr_un *)address)->sun_path, *modes = getenv("BOUND_MODES");
    struct stat found;
    if (result == 0 && modes != NULL && address->sa_family == AF_UNIX && stat(path, &found) == 0) {
        FILE *file = fopen(modes, "a");
        fprintf(file, "%o\n", found.st_mode & 0777);
        fclose(file);
    }
    return result;
}
