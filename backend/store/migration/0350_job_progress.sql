-- How far a job is: what the page of a running job needs for its rate and its remaining
-- time.
--
-- started_at is when a worker first leased the job, NULL until then.
ALTER TABLE job ADD COLUMN started_at INTEGER;
-- total is the number of rows that the job processes in all. An import knows it after it has
-- read its file once, an export when it begins. NULL until then, and of jobs from before
-- this column.
ALTER TABLE job ADD COLUMN total INTEGER CHECK (total >= 0);
