/* The client of the echo experiment: faster than any server in Python, so that the server is
 * the bottleneck. Built by echo.py into a library, and called from there. */

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

enum { MOST = 64, LARGEST = 65536 };
enum { DONE = 0, TIMED_OUT = 1, HUNG_UP = 2, NO_ECHO = 3, TOO_LARGE = 4 };

static int wait_for(int fd, short events, int timeout_ms)
{
    struct pollfd one = {.fd = fd, .events = events};
    int ready;
    do
        ready = poll(&one, 1, timeout_ms);
    while (ready < 0 && errno == EINTR);
    return ready > 0 ? DONE : TIMED_OUT;
}

static int send_all(int fd, const char *message, int size, int timeout_ms)
{
    for (int sent = 0; sent < size;) {
        ssize_t part = send(fd, message + sent, (size_t)(size - sent), MSG_NOSIGNAL);
        if (part >= 0)
            sent += (int)part;
        else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (wait_for(fd, POLLOUT, timeout_ms))
                return TIMED_OUT;
        } else if (errno != EINTR)
            return HUNG_UP;
    }
    return DONE;
}

/* Sends so many messages on each connection, each after the answer to the last. */
int echo_turn(const int *sockets, int count, int rounds, const char *message, int size,
              int timeout_ms)
{
    struct pollfd polled[MOST];
    int left[MOST], received[MOST], open = count;
    char part[LARGEST];
    if (count > MOST || size > LARGEST)
        return TOO_LARGE;
    for (int i = 0; i < count; i++) {
        polled[i] = (struct pollfd){.fd = sockets[i], .events = POLLIN};
        left[i] = rounds;
        received[i] = 0;
        int failed = send_all(sockets[i], message, size, timeout_ms);
        if (failed)
            return failed;
    }
    while (open) {
        int ready = poll(polled, (nfds_t)count, timeout_ms);
        if (ready == 0)
            return TIMED_OUT;
        for (int i = 0; i < count; i++) {
            if (ready < 0 || polled[i].fd < 0 || !polled[i].revents)
                continue;
            ssize_t got = recv(polled[i].fd, part, (size_t)(size - received[i]), 0);
            if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
                continue;
            if (got <= 0)
                return HUNG_UP;
            if (memcmp(part, message + received[i], (size_t)got))
                return NO_ECHO;
            received[i] += (int)got;
            if (received[i] < size)
                continue;
            received[i] = 0;
            if (--left[i]) {
                int failed = send_all(polled[i].fd, message, size, timeout_ms);
                if (failed)
                    return failed;
            } else {
                polled[i].fd = -1; /* poll skips it */
                open--;
            }
        }
    }
    return DONE;
}
