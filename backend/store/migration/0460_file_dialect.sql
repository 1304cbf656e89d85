-- dialect is the form in which an upload came, such as "Windows-1252 ;"; empty for files from
-- before this column, and for files that jobs write.
ALTER TABLE file ADD COLUMN dialect TEXT NOT NULL DEFAULT '';
-- file_row is the number of the last row of its file that an import has processed, as
-- spreadsheets show it; 0 of jobs from before this column, whose errors have numbers of records.
ALTER TABLE job ADD COLUMN file_row INTEGER NOT NULL DEFAULT 0 CHECK (file_row >= 0);
-- idle is the number of rows that an import accepted and that did nothing.
ALTER TABLE job ADD COLUMN idle INTEGER NOT NULL DEFAULT 0 CHECK (idle >= 0);
