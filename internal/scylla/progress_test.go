// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJoinedPercent(t *testing.T) {
	t.Parallel()
	const gauge = "scylla_node_ops_finished_percentage"
	idle := gauge + `{ops="rebuild",shard="0"} 0.100000` + "\n" + gauge + `{ops="repair",shard="0"} 0.200000` + "\n"
	for name, tc := range map[string]struct {
		text string
		want *int32
	}{
		"a join":                        {idle + gauge + `{ops="bootstrap",shard="0"} 0.430000` + "\n" + gauge + `{ops="replace",shard="0"} 1.000000` + "\n", new(int32(43))},
		"a replacement":                 {gauge + `{ops="bootstrap",shard="0"} 1.000000` + "\n" + gauge + `{ops="replace",shard="0"} 0.999000` + "\n", new(int32(99))},
		"the mean of the shards":        {gauge + `{ops="bootstrap",shard="0"} 0.25` + "\n" + gauge + `{shard="1",ops="bootstrap"} 0.75` + "\n", new(int32(50))},
		"nothing moved yet":             {gauge + `{ops="bootstrap",shard="0"} 0` + "\n", new(int32(0))},
		"not begun, or over":            {gauge + `{ops="bootstrap",shard="0"} 1.000000` + "\n" + gauge + `{ops="replace",shard="0"} 1.000000` + "\n", nil},
		"other operations":              {idle, nil},
		"a range of 0 to 100":           {gauge + `{ops="bootstrap",shard="0"} 43` + "\n", nil},
		"below zero":                    {gauge + `{ops="bootstrap",shard="0"} -0.5` + "\n", nil},
		"no number":                     {gauge + `{ops="bootstrap",shard="0"} NaN` + "\n", nil},
		"another metric with the label": {`scylla_x{ops="bootstrap",shard="0"} 0.5` + "\n", nil},
		"empty":                         {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, joinedPercent(tc.text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
