// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// CqlshCommand is a small cqlsh: it runs the statement of -e, else those on standard input, and knows DESCRIBE KEYSPACES and SELECT release_version FROM
// system.local, which it answers from the REST API. Any other statement fails with 2, as a statement that ScyllaDB refuses does.
func CqlshCommand(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	text := ""
	for i := 0; i < len(args); i++ {
		if (args[i] == "-e" || args[i] == "--execute") && i+1 < len(args) {
			i++
			text = args[i]
		}
	}
	if text == "" {
		b, err := io.ReadAll(stdin)
		if err != nil {
			_, _ = fmt.Fprintln(stderr, "cqlsh:", err)
			return 1
		}
		text = string(b)
	}
	t := parseNodetool(ctx, nil)
	for statement := range strings.SplitSeq(text, ";") {
		var out string
		var err error
		switch words := strings.ToUpper(strings.Join(strings.Fields(statement), " ")); words {
		case "":
			continue
		case "DESCRIBE KEYSPACES", "DESC KEYSPACES":
			var names []string
			if out, err = t.do(http.MethodGet, "/storage_service/keyspaces"); err == nil {
				err = json.Unmarshal([]byte(out), &names)
			}
			out = strings.Join(names, "  ")
		case "SELECT RELEASE_VERSION FROM SYSTEM.LOCAL":
			out, err = t.do(http.MethodGet, "/storage_service/release_version")
			out = " release_version\n-----------------\n           " + strings.Trim(out, `"`) + "\n\n(1 rows)"
		default:
			err = fmt.Errorf("SyntaxException: statement %q is not simulated", strings.TrimSpace(statement))
		}
		if err != nil {
			_, _ = fmt.Fprintln(stderr, "<stdin>:1:"+err.Error())
			return 2
		}
		_, _ = fmt.Fprintln(stdout, "\n"+out+"\n")
	}
	return 0
}
