// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"strconv"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// VitalsTexts returns a node's uptime, data and tokens as text, each empty if not reported.
func VitalsTexts(v cluster.Vitals) (uptime, load, tokens string) {
	if d, ok := v.Uptime(); ok {
		uptime = words.Age(d)
	}
	if v.LoadBytes != nil {
		load = Bytes(*v.LoadBytes)
	}
	if v.Tokens != nil {
		tokens = strconv.Itoa(*v.Tokens)
	}
	return uptime, load, tokens
}

// Bytes formats an amount of data by powers of 1024: "512 B", "1.2 GiB".
func Bytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	amount, unit := float64(n)/1024, 0
	units := []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	for ; amount >= 1023.95 && unit < len(units)-1; unit++ {
		amount /= 1024
	}
	return fmt.Sprintf("%.1f %s", amount, units[unit])
}
