/*
 * powercut records what a program writes to the files of a folder, and when it makes the
 * writes durable, so that a test can discard what a power cut would have lost. The test
 * preloads it (LD_PRELOAD) into the database server.
 *
 * POWERCUT_DIR is the folder, an absolute path without symbolic links; POWERCUT_LOG is the
 * file that gets the records. A record is a header and, for most kinds, data:
 *
 *   open      data is the path; id names the open file in later records
 *   write     data was written at offset
 *   truncate  the file has now the length offset
 *   sync      the file was made durable; written before fsync returns
 *   rename    data is the old path, a zero byte and the new path
 *   unlink    data is the path
 *   unknown   data names a change that is not recorded; the test must fail
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OPEN = 1, WRITE, TRUNCATE, SYNC, RENAME, UNLINK, UNKNOWN };

struct header {
	uint32_t kind, id;
	uint64_t offset, length;
};

#define MAX_FD 65536

static _Atomic uint32_t ids[MAX_FD], last_id;
static int log_fd = -1;
static const char *folder;

__attribute__((constructor)) static void start(void)
{
	const char *log = getenv("POWERCUT_LOG");
	folder = getenv("POWERCUT_DIR");
	if (!log || !folder)
		return;
	log_fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (log_fd < 0) {
		perror("powercut: open the log");
		_exit(125);
	}
}

/* record appends a record with one system call, which the kernel does not interleave. */
static void record(uint32_t kind, uint32_t id, uint64_t offset, const void *data, size_t length)
{
	int saved = errno;
	struct header h = {kind, id, offset, length};
	struct iovec parts[2] = {{&h, sizeof h}, {(void *)data, length}};
	if (log_fd >= 0 && syscall(SYS_writev, log_fd, parts, 2) != (ssize_t)(sizeof h + length)) {
		perror("powercut: write the log");
		_exit(125);
	}
	errno = saved;
}

static int within(const char *path)
{
	size_t n = folder ? strlen(folder) : 0;
	return n && !strncmp(path, folder, n) && path[n] == '/';
}

static uint32_t id_of(int fd) { return fd >= 0 && fd < MAX_FD ? atomic_load(&ids[fd]) : 0; }

static int opened(int fd, int flags)
{
	char link[64], path[PATH_MAX];
	int saved = errno;
	if (fd < 0 || log_fd < 0)
		return fd;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof path - 1);
	if (n > 0 && fd < MAX_FD) {
		path[n] = 0;
		uint32_t id = 0;
		struct stat file;
		if (within(path) && !fstat(fd, &file) && S_ISREG(file.st_mode)) {
			id = atomic_fetch_add(&last_id, 1) + 1;
			record(OPEN, id, 0, path, n);
			if (flags & O_TRUNC)
				record(TRUNCATE, id, 0, NULL, 0);
		}
		atomic_store(&ids[fd], id);
	}
	errno = saved;
	return fd;
}


#define MODE(flags) \
	mode_t mode = 0; \
	if ((flags) & (O_CREAT | O_TMPFILE)) { \
		va_list arguments; \
		va_start(arguments, flags); \
		mode = va_arg(arguments, mode_t); \
		va_end(arguments); \
	}

int open(const char *path, int flags, ...)
{
	MODE(flags)
	return opened(syscall(SYS_openat, AT_FDCWD, path, flags, mode), flags);
}
int open64(const char *path, int flags, ...)
{
	MODE(flags)
	return opened(syscall(SYS_openat, AT_FDCWD, path, flags | O_LARGEFILE, mode), flags);
}
int openat(int at, const char *path, int flags, ...)
{
	MODE(flags)
	return opened(syscall(SYS_openat, at, path, flags, mode), flags);
}
int openat64(int at, const char *path, int flags, ...)
{
	MODE(flags)
	return opened(syscall(SYS_openat, at, path, flags | O_LARGEFILE, mode), flags);
}
int creat(const char *path, mode_t mode) { return open(path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return creat(path, mode); }

int close(int fd)
{
	if (fd >= 0 && fd < MAX_FD)
		atomic_store(&ids[fd], 0);
	return syscall(SYS_close, fd);
}

static int fcntl_any(int fd, int command, void *argument)
{
	int result = syscall(SYS_fcntl, fd, command, argument);
	if (result >= 0 && result < MAX_FD && (command == F_DUPFD || command == F_DUPFD_CLOEXEC))
		atomic_store(&ids[result], id_of(fd));
	return result;
}
int fcntl(int fd, int command, ...)
{
	va_list arguments;
	va_start(arguments, command);
	void *argument = va_arg(arguments, void *);
	va_end(arguments);
	return fcntl_any(fd, command, argument);
}
int fcntl64(int fd, int command, ...)
{
	va_list arguments;
	va_start(arguments, command);
	void *argument = va_arg(arguments, void *);
	va_end(arguments);
	return fcntl_any(fd, command, argument);
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset)
{
	ssize_t n = syscall(SYS_pwrite64, fd, data, length, offset);
	if (n > 0 && id_of(fd))
		record(WRITE, id_of(fd), offset, data, n);
	return n;
}
ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) { return pwrite(fd, data, length, offset); }

ssize_t write(int fd, const void *data, size_t length)
{
	ssize_t n = syscall(SYS_write, fd, data, length);
	if (n > 0 && id_of(fd))
		record(WRITE, id_of(fd), lseek(fd, 0, SEEK_CUR) - n, data, n);
	return n;
}

/* Of several parts only the first is written; callers write the rest again. */
ssize_t writev(int fd, const struct iovec *parts, int count)
{
	if (!id_of(fd) || !count)
		return syscall(SYS_writev, fd, parts, count);
	return write(fd, parts[0].iov_base, parts[0].iov_len);
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
	if (!id_of(fd) || !count)
		return syscall(SYS_pwritev, fd, parts, count, (unsigned long)offset, 0UL);
	return pwrite(fd, parts[0].iov_base, parts[0].iov_len, offset);
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) { return pwritev(fd, parts, count, offset); }

int ftruncate(int fd, off_t length)
{
	int result = syscall(SYS_ftruncate, fd, length);
	if (!result && id_of(fd))
		record(TRUNCATE, id_of(fd), length, NULL, 0);
	return result;
}
int ftruncate64(int fd, off64_t length) { return ftruncate(fd, length); }

int fsync(int fd)
{
	int result = syscall(SYS_fsync, fd);
	if (!result && id_of(fd))
		record(SYNC, id_of(fd), 0, NULL, 0);
	return result;
}
int fdatasync(int fd) { return fsync(fd); }

static char *absolute(const char *path, char *buffer)
{
	if (path[0] == '/')
		return strcpy(buffer, path);
	if (!getcwd(buffer, PATH_MAX))
		return NULL;
	strcat(buffer, "/");
	return strcat(buffer, path);
}

int rename(const char *from, const char *to)
{
	char both[2 * PATH_MAX], old[PATH_MAX], new[PATH_MAX];
	int result = syscall(SYS_rename, from, to);
	if (!result && absolute(from, old) && absolute(to, new) && (within(old) || within(new))) {
		size_t n = strlen(old) + 1;
		memcpy(both, old, n);
		strcpy(both + n, new);
		record(RENAME, 0, 0, both, n + strlen(new));
	}
	return result;
}

int unlink(const char *path)
{
	char old[PATH_MAX];
	int result = syscall(SYS_unlink, path);
	if (!result && absolute(path, old) && within(old))
		record(UNLINK, 0, 0, old, strlen(old));
	return result;
}

int unlinkat(int at, const char *path, int flags)
{
	char link[64], old[2 * PATH_MAX];
	if (at == AT_FDCWD && !(flags & AT_REMOVEDIR))
		return unlink(path);
	int result = syscall(SYS_unlinkat, at, path, flags);
	if (!result && !(flags & AT_REMOVEDIR) && path[0] != '/') {
		snprintf(link, sizeof link, "/proc/self/fd/%d", at);
		ssize_t n = readlink(link, old, PATH_MAX);
		if (n > 0) {
			snprintf(old + n, PATH_MAX, "/%s", path);
			if (within(old))
				record(UNLINK, 0, 0, old, strlen(old));
		}
	}
	return result;
}

static void unknown(int fd, const char *what)
{
	if (id_of(fd))
		record(UNKNOWN, id_of(fd), 0, what, strlen(what));
}

void *mmap64(void *at, size_t length, int protection, int flags, int fd, off64_t offset)
{
	if (fd >= 0 && (flags & MAP_SHARED) && (protection & PROT_WRITE))
		unknown(fd, "mmap");
	return (void *)syscall(SYS_mmap, at, length, protection, flags, fd, offset);
}
void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset)
{
	return mmap64(at, length, protection, flags, fd, offset);
}

/* Callers copy by read and write instead. */
ssize_t copy_file_range(int in, off64_t *in_offset, int out, off64_t *out_offset, size_t length, unsigned flags)
{
	errno = ENOSYS;
	return -1;
}
ssize_t sendfile(int out, int in, off_t *offset, size_t count)
{
	if (!id_of(out))
		return syscall(SYS_sendfile, out, in, offset, count);
	errno = EINVAL;
	return -1;
}
ssize_t sendfile64(int out, int in, off64_t *offset, size_t count) { return sendfile(out, in, offset, count); }
int link(const char *from, const char *to)
{
	char old[PATH_MAX];
	if (absolute(to, old) && within(old))
		record(UNKNOWN, 0, 0, "link", 4);
	return syscall(SYS_link, from, to);
}
int linkat(int at, const char *from, int to_at, const char *to, int flags)
{
	char old[PATH_MAX];
	if (absolute(to, old) && within(old))
		record(UNKNOWN, 0, 0, "linkat", 6);
	return syscall(SYS_linkat, at, from, to_at, to, flags);
}
int dup2(int from, int to)
{
	int result = syscall(SYS_dup2, from, to);
	if (result >= 0 && result < MAX_FD)
		atomic_store(&ids[result], id_of(from));
	return result;
}
