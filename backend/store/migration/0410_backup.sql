-- When the latest scheduled backup was made, and which backend makes the next one: one
-- row. Written by the backups worker of the backends that have KITH_BACKUP_DIR.
CREATE TABLE backup_schedule (
  one       INTEGER PRIMARY KEY CHECK (one = 1),
  made_at   INTEGER NOT NULL,                 -- 0 before the first one
  retry_at  INTEGER NOT NULL,                 -- after a failure: not before this time
  leased_by TEXT                              -- the token of the lease, see worker_process
) STRICT;
INSERT INTO backup_schedule (one, made_at, retry_at) VALUES (1, 0, 0);
