-- Codes of the tenant's own shop that a program gives as FUELTANK rewards, in
-- the order in which they were loaded.
CREATE TABLE fuel_tank (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant     TEXT NOT NULL,
  program    TEXT NOT NULL,
  key        TEXT NOT NULL CHECK (key IN ('referrer', 'referred')),
  code       TEXT NOT NULL CHECK (code <> ''),
  reward_id  TEXT,                         -- null until it is given
  created_at INTEGER NOT NULL,
  UNIQUE (tenant, program, key, code),
  UNIQUE (tenant, reward_id),              -- a reward has one code
  FOREIGN KEY (tenant, program) REFERENCES program (tenant, key) ON DELETE CASCADE
) STRICT;
CREATE INDEX fuel_tank_left ON fuel_tank (tenant, program, key, seq) WHERE reward_id IS NULL;

-- Rewards that a referral has earned and that no code was left for: given as
-- soon as there are codes, the first first.
CREATE TABLE fuel_due (
  seq         INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant      TEXT NOT NULL,
  program     TEXT NOT NULL,
  key         TEXT NOT NULL CHECK (key IN ('referrer', 'referred')),
  referral_id TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  UNIQUE (tenant, referral_id, key),
  FOREIGN KEY (tenant, program) REFERENCES program (tenant, key) ON DELETE CASCADE
) STRICT;
CREATE INDEX fuel_due_of ON fuel_due (tenant, program, key, seq);
