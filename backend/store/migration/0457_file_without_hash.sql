-- A file is complete when it has a hash; until then its size is what is reserved for it. Files
-- of earlier versions may be complete without one.
UPDATE file SET hash = 'unknown' WHERE size IS NOT NULL AND hash = '';
