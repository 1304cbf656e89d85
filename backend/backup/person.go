package backup

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"kith/backend/store"
	"kith/backend/store/tabledb"
	"kith/backend/store/userdb"
	"kith/core"
)

// Person writes all that the service holds about a user, of one time, as a JSON
// document: the rows about them, by table and column. What the whole account has
// is theirs too; what a table keeps of others is not. Files that the tenant sent
// are not looked into. An unknown user is not found, and nothing is written.
func Person(ctx context.Context, db *store.Primary, tenant core.TenantAlias, account core.AccountID, user core.UserID, now core.Time, to io.Writer) error {
	out := bufio.NewWriter(to)
	err := db.Snapshot(ctx, func(r store.Reads) error {
		known, err := userdb.UserKnown(ctx, r, tenant, account, user)
		if err == nil && !known {
			err = core.NotFound("there is no such user")
		}
		if err != nil {
			return err
		}
		head, err := json.Marshal(struct {
			Tenant  core.TenantAlias `json:"tenant"`
			Account core.AccountID   `json:"account"`
			User    core.UserID      `json:"user"`
			Time    core.Time        `json:"time"`
		}{tenant, account, user, now})
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s,\n\"tables\": {", head[:len(head)-1])
		if err := personTables(ctx, r, tenant, account, user, out); err != nil {
			return err
		}
		_, err = out.WriteString("}}\n")
		return err
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

func personTables(ctx context.Context, r store.Reads, tenant core.TenantAlias, account core.AccountID, user core.UserID, out *bufio.Writer) error {
	all, err := tabledb.Tables(ctx, r)
	if err != nil {
		return err
	}
	tables := 0
	for _, t := range all {
		rows := 0
		err := tabledb.DumpPersonal(ctx, r, t, tenant, account, user, func(line []byte) error {
			switch {
			case rows == 0 && tables > 0:
				fmt.Fprintf(out, ",\n%q: [\n", t.Name)
			case rows == 0:
				fmt.Fprintf(out, "\n%q: [\n", t.Name)
			default:
				_, _ = out.WriteString(",\n")
			}
			rows++
			_, err := out.Write(line)
			return err
		})
		if err != nil {
			return err
		}
		if rows > 0 {
			tables++
			_, _ = out.WriteString("]")
		}
	}
	return nil
}
