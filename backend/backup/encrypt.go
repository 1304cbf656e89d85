package backup

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"

	"kith/core"
)

// ageStart begins every file that age has encrypted, and no gzip file.
const ageStart = "age-encryption.org/"

// CheckEncrypted returns an error if a file does not begin as one that age has encrypted.
func CheckEncrypted(from io.Reader) error {
	start := make([]byte, len(ageStart))
	if _, err := io.ReadFull(from, start); err != nil {
		return damaged(err)
	}
	if string(start) != ageStart {
		return core.Invalid("file", "is not encrypted by age, though its name ends in "+encryptedEnd)
	}
	return nil
}

// ParseRecipients reads public keys of age, such as those of --backup-recipient.
func ParseRecipients(keys []string) (recipients []age.Recipient, err error) {
	for i, key := range keys {
		r, err := age.ParseX25519Recipient(strings.TrimSpace(key))
		if err != nil {
			// The key is not shown: it may be a secret one.
			return nil, core.Invalid("backup-recipient", fmt.Sprintf("key %d is not a public key of age: give age1…, which age-keygen -y FILE prints", i+1))
		}
		recipients = append(recipients, r)
	}
	return recipients, nil
}

// ReadIdentities reads the secret keys of age in a file, such as age-keygen writes it. An
// empty path has none.
func ReadIdentities(path string) ([]age.Identity, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("identity-file: %w", err)
	}
	defer file.Close()
	identities, err := age.ParseIdentities(file)
	if err != nil {
		return nil, core.Invalid("identity-file", "is not a list of secret keys of age: give the file that age-keygen -o FILE wrote, decrypted if it has a passphrase")
	}
	return identities, nil
}

// decrypted returns the archive in an encrypted file; a file that is not encrypted is
// returned as it is.
func decrypted(from *bufio.Reader, identities []age.Identity) (*bufio.Reader, error) {
	if start, _ := from.Peek(len(ageStart)); string(start) != ageStart {
		return from, nil
	}
	if len(identities) == 0 {
		return nil, core.Invalid("identity-file", "is needed, because the file is encrypted: give that of a recipient by --identity-file or KITH_BACKUP_IDENTITY_FILE")
	}
	plain, err := age.Decrypt(from, identities...)
	if wrong := (*age.NoIdentityMatchError)(nil); errors.As(err, &wrong) {
		return nil, core.Invalid("identity-file", "has no key that decrypts the file: give that of a recipient; if it is, the file is damaged, use another copy")
	}
	if err != nil {
		return nil, damaged(err)
	}
	return bufio.NewReaderSize(plain, readBytes), nil
}
