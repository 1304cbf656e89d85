-- Jobs write files or read them (reference, 3).

-- The files of jobs. The row is there before the file is, so that a file that
-- was begun by a process that died is taken away like any other.
CREATE TABLE file (
  tenant     TEXT NOT NULL REFERENCES tenant (alias),
  ref        TEXT NOT NULL,
  size       INTEGER CHECK (size >= 0),    -- null until the file is whole
  hash       TEXT NOT NULL,                -- SHA-256 of an upload, in hex
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, ref)
) STRICT;
CREATE INDEX file_expiry ON file (expires_at);

CREATE TABLE job (
  tenant       TEXT NOT NULL REFERENCES tenant (alias),
  id           TEXT NOT NULL,
  type         TEXT NOT NULL,
  name         TEXT NOT NULL,
  requester    TEXT NOT NULL,
  mail_to      TEXT NOT NULL,
  format       TEXT NOT NULL CHECK (format IN ('CSV', 'XLSX')),
  params       TEXT NOT NULL CHECK (json_type(params) = 'object'),
  file         TEXT,                       -- the upload that an import reads
  status       TEXT NOT NULL CHECK (status IN ('PENDING', 'COMPLETED', 'ABORTED')),
  reason       TEXT NOT NULL,
  processed    INTEGER NOT NULL CHECK (processed >= 0),
  errors       INTEGER NOT NULL CHECK (errors BETWEEN 0 AND processed),
  result_file  TEXT,
  errors_file  TEXT,
  -- Who works on it: the attempt fences off a worker that came late, the lease
  -- lets others take over from one that died.
  attempt      INTEGER NOT NULL CHECK (attempt >= 0),
  tries        INTEGER NOT NULL CHECK (tries BETWEEN 0 AND attempt), -- since it last came on
  leased_until INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  completed_at INTEGER,
  expires_at   INTEGER,
  PRIMARY KEY (tenant, id),
  CHECK ((status = 'PENDING') = (completed_at IS NULL)),
  CHECK ((completed_at IS NULL) = (expires_at IS NULL)),
  CHECK (status <> 'ABORTED' OR reason <> '')
) STRICT;
CREATE INDEX job_list ON job (tenant, created_at);
CREATE INDEX job_waiting ON job (leased_until) WHERE status = 'PENDING';
CREATE INDEX job_expiry ON job (expires_at) WHERE expires_at IS NOT NULL;
