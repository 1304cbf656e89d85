package users

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/tabledb"
	"kith/core"
)

// WritePersonal writes all data about a user, as of one point in time, as a JSON document: the
// rows about the user, by table and column. Rows about the whole account are included;
// columns about other people are not. The contents of uploaded files are not included.
// If the user does not exist, it returns a not-found error and writes nothing.
func (us *Users) WritePersonal(ctx context.Context, tenant core.TenantAlias, account core.AccountID, user core.UserID, to io.Writer) error {
	out := bufio.NewWriter(to)
	err := us.DB.Snapshot(ctx, func(r store.Reads) error {
		if err := base.MustExist(ctx, r, tenant, account, user); err != nil {
			return err
		}
		head, err := json.Marshal(struct {
			Tenant  core.TenantAlias `json:"tenant"`
			Account core.AccountID   `json:"account"`
			User    core.UserID      `json:"user"`
			Time    core.Time        `json:"time"`
		}{tenant, account, user, us.Now()})
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
