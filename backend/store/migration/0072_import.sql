-- A job that did not fail may have something to say too.
ALTER TABLE job RENAME COLUMN reason TO message;

-- How far an import has come, in bytes of its unpacked file: moved in the
-- transaction that holds what the rows before it did.
ALTER TABLE job ADD COLUMN position INTEGER NOT NULL DEFAULT 0 CHECK (position >= 0);

-- What an import has to tell of its rows, packed, batch by batch: it becomes the
-- result file and the errors file when the job ends.
CREATE TABLE job_part (
  tenant TEXT NOT NULL,
  job_id TEXT NOT NULL,
  seq    INTEGER NOT NULL,
  result BLOB,                             -- null when none of its rows has one
  errors BLOB,
  PRIMARY KEY (tenant, job_id, seq),
  FOREIGN KEY (tenant, job_id) REFERENCES job (tenant, id) ON DELETE CASCADE
) STRICT;

-- For the same content that is sent again.
CREATE INDEX job_file ON job (tenant, file) WHERE file IS NOT NULL;
CREATE INDEX file_content ON file (tenant, hash) WHERE hash <> ''
