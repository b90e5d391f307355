// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestNoHarm31TheLimitOfTheControlGroupIsRead(t *testing.T) {
	t.Parallel()
	const own = "0::/kubepods/pod1/c1\n"
	for name, tc := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"none":                            {nil, 0},
		"a container":                     {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20},
		"a group of its own":              {map[string]string{"proc/self/cgroup": own, "sys/fs/cgroup/kubepods/pod1/c1/memory.max": "536870912\n"}, 512 << 20},
		"a group that is not visible":     {map[string]string{"proc/self/cgroup": own, "sys/fs/cgroup/memory.max": "1024\n"}, 1024},
		"no limit":                        {map[string]string{"proc/self/cgroup": own, "sys/fs/cgroup/kubepods/pod1/c1/memory.max": "max\n", "sys/fs/cgroup/memory.max": "1\n"}, 0},
		"no file":                         {map[string]string{"proc/self/cgroup": "0::/\n"}, 0},
		"version 1":                       {map[string]string{"proc/self/cgroup": "8:pids:/\n4:memory:/a\n0::/\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1024\n"}, 1024},
		"version 1, a container":          {map[string]string{"proc/self/cgroup": "4:memory:/a\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "1024\n"}, 1024},
		"another controller of version 1": {map[string]string{"proc/self/cgroup": "8:pids:/\n", "sys/fs/cgroup/memory.max": "1\n"}, 0},
		"not a number":                    {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "many\n"}, 0},
		"not the list that it should be":  {map[string]string{"proc/self/cgroup": "0:\n\n", "sys/fs/cgroup/memory.max": "1\n"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for file, text := range tc.files {
				path := filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := groupLimit(root); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}
