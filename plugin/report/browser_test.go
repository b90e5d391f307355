// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"context"
	"html"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// browse runs a headless browser on a page.
func browse(t *testing.T, browser, file string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	profile, err := os.MkdirTemp("", "report-browser-")
	if err != nil {
		t.Fatal(err)
	}
	// Not t.TempDir: helpers of the browser may still write there for a moment, and that is no failure of ours.
	defer func() { _ = os.RemoveAll(profile) }()
	args = append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--disable-sync", "--enable-logging=stderr", "--hide-scrollbars", "--user-data-dir=" + profile}, append(args, "file://"+file)...)
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, browser, args...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &errOut, 5*time.Second
	if err := cmd.Run(); err != nil {
		t.Fatalf("run %s: %v\n%s", browser, err, errOut.String())
	}
	if console := errOut.String(); strings.Contains(console, "CONSOLE") || strings.Contains(console, "Content Security Policy") {
		t.Errorf("the page complains:\n%s", console)
	}
	return out.String()
}

func theBrowser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("NO BROWSER: chromium is not installed, so nobody has looked at the page (apt-get install chromium)")
	return ""
}

// breaks says in the title how many commands there are, and names those that are broken elsewhere than at a space, that stick out, or of which a copy is another text; and the
// sentences that are broken within a word.
const breaks = `<script>
document.querySelectorAll("details").forEach(d => d.open = true);
const wrong = [], codes = document.querySelectorAll(".step code");
for (const code of codes) {
  const walk = document.createTreeWalker(code, NodeFilter.SHOW_TEXT), range = document.createRange();
  let before = "", bottom = null;
  // A word that is wider than a line has to be broken somewhere.
  const tooWide = n => n.parentNode !== code && n.parentNode.getBoundingClientRect().width > code.clientWidth - 16;
  for (let n = walk.nextNode(); n; n = walk.nextNode()) for (let i = 0; i < n.length; i++) {
    range.setStart(n, i); range.setEnd(n, i + 1);
    const r = range.getBoundingClientRect();
    if (r.width === 0) { before = n.data[i]; continue; }
    if (bottom !== null && r.top >= bottom && before !== " " && n.data[i] !== " " && !tooWide(n)) wrong.push("broken before " + n.data.slice(i) + " of " + code.textContent);
    before = n.data[i]; bottom = r.bottom;
  }
  if (code.getBoundingClientRect().right > code.closest("li").getBoundingClientRect().right) wrong.push("sticks out: " + code.textContent);
  getSelection().selectAllChildren(code);
  if (getSelection().toString() !== code.textContent) wrong.push("copied as " + getSelection().toString());
}
// Sentences: a name goes to the next line whole.
const names = document.querySelectorAll(".w"), walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
for (let n = walk.nextNode(); n; n = walk.nextNode()) {
  const on = n.parentNode;
  if (!on.closest("header, main") || on.closest("code, svg, pre, table") || !/\S-\S/.test(n.data)) continue;
  let bottom = null;
  for (let i = 0; i < n.length; i++) {
    range.setStart(n, i); range.setEnd(n, i + 1);
    const r = range.getBoundingClientRect();
    if (r.width === 0) continue;
    const block = on.closest("li, dd, p"), style = getComputedStyle(block);
    const tooWide = on.className === "w" && on.getBoundingClientRect().width > block.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - 1;
    if (bottom !== null && r.top >= bottom && n.data[i - 1] !== " " && n.data[i - 1] !== "\n" && !tooWide) wrong.push("broken before " + n.data.slice(i, i + 20) + " of " + n.data.slice(Math.max(0, i - 20), i + 20));
    bottom = r.bottom;
  }
}
if (names.length === 0) wrong.push("no names");
for (const name of names) {
  getSelection().selectAllChildren(name.parentNode);
  const copied = getSelection().toString();
  if (on(name) && copied.trim() !== name.parentNode.textContent.trim()) wrong.push("copied as " + copied);
}
function on(name) { return name.parentNode.matches("li, dd, span") && !name.parentNode.querySelector("p, b, pre, details"); }
parent.document.title = codes.length + " commands, wrong: " + wrong.join("; ");
</script>`

// A command that is broken at a hyphen cannot be read, and one with other hyphens in it cannot be pasted: on a narrow page it is broken at its spaces alone. So is a
// sentence, in which half a member's name reads as another name.
func TestCommandsAndNamesAreBrokenAtSpacesAlone(t *testing.T) {
	browser := theBrowser(t)
	objects := append(troubled().Objects(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "demo", Name: "data-demo-dc1-rack1-0", Labels: map[string]string{api.LabelCluster: "demo"},
			Finalizers: []string{"kubernetes.io/pvc-protection"}, DeletionTimestamp: &metav1.Time{Time: plugintest.Now},
		},
		Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pvc-1"},
	})
	res := plugintest.Run{Args: []string{"report", "demo", "-n", "demo", "-o", "html"}, Objects: objects}.Do(t)
	if res.Code != 0 || !strings.Contains(res.Stdout, "persistentVolumeReclaimPolicy") {
		t.Fatalf("%+v", res)
	}
	for _, width := range []string{"340", "400", "1280"} {
		file := filepath.Join(t.TempDir(), "report.html")
		page := strings.Replace(res.Stdout, `<meta http-equiv="Content-Security-Policy"`, `<meta name="was"`, 1)
		page = strings.Replace(page, "</body>", breaks+"</body>", 1)
		// No window is that narrow. A frame is, and the page's rules for narrow screens go by it.
		page = `<title></title><iframe style="border:0;height:1500px;width:` + width + `px" srcdoc="` + html.EscapeString(page) + `"></iframe>`
		if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
		_, title, _ := strings.Cut(browse(t, browser, file, "--window-size=1400,1600", "--dump-dom"), "<title>")
		title, _, _ = strings.Cut(title, "</title>")
		words, wrong, found := strings.Cut(title, " commands, wrong: ")
		if !found || words == "0" || wrong != "" {
			t.Errorf("%s pixels wide: %s", width, title)
		}
	}
}

// The page is opened in a real browser, which must find everything on it, fetch nothing, and draw it in colours.
func TestPageInBrowser(t *testing.T) {
	browser := theBrowser(t)
	// What a browser would take for markup must arrive as text.
	c := troubled().Add(event("x", "Pod", "demo-dc1-rack1-0", "Warning", "Odd", `<script>document.title="bad"</script><img src=x onerror=alert(1)>`, 1, time.Minute))
	res := plugintest.Run{Args: []string{"report", "demo", "-n", "demo", "-o", "html"}, Objects: c.Objects()}.Do(t)
	if res.Code != 0 {
		t.Fatalf("%+v", res)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "report.html")
	if err := os.WriteFile(file, []byte(res.Stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, outside := range []string{"<script", "src=\"http", "href=\"http", "url(", "@import"} {
		if strings.Contains(strings.ToLower(res.Stdout), outside) {
			t.Errorf("the page has %q: it must need nothing else and run nothing", outside)
		}
	}
	dom := browse(t, browser, file, "--dump-dom")
	for _, want := range []string{
		"<title>✗ demo/demo: NOT HEALTHY</title>", `<meta name="viewport"`, "NOT HEALTHY</span>", "demo-dc1-rack3-0 DOWN: scylla exits with code 1, 3 restarts",
		`<svg xmlns="http://www.w3.org/2000/svg" class="mx"`, `role="img"`, "<title>demo-dc1-rack1-0 sees demo-dc1-rack3-0: DOWN</title>", `href="#mx-DOWN"`, `href="#mx-UP"`,
		"<code>kubectl logs <span>demo-dc1-rack3-0</span> <span>-c</span> scylla <span>--previous</span> <span>-n</span> demo</code>", "demo-dc1-rack2-1", "CrashLoopBackOff", `<span class="w">Back-off</span> restarting failed container scylla (7 times)`,
		"&lt;script&gt;", "ScyllaDBDatacenterNodesStatusReport",
	} {
		if !strings.Contains(dom, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(dom)
	}
	for name, args := range map[string][]string{
		"desktop": {"--window-size=1280,1600"},
		"narrow":  {"--window-size=500,1600"},
		"dark":    {"--window-size=1280,1600", "--force-dark-mode", "--blink-settings=preferredColorScheme=0"},
	} {
		shot := filepath.Join(dir, name+".png")
		browse(t, browser, file, append(args, "--screenshot="+shot)...)
		colours(t, name, shot)
	}
	if keep := os.Getenv("REPORT_SCREENSHOTS"); keep != "" {
		if err := os.CopyFS(keep, os.DirFS(dir)); err != nil {
			t.Error(err)
		}
	}
}

// colours looks for the background and for the colours of the matrix: a page whose styles do not apply has neither.
func colours(t *testing.T, name, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	type rgb [3]uint8
	background, up, down := rgb{0xff, 0xff, 0xff}, rgb{0xcf, 0xea, 0xe0}, rgb{0xc8, 0x4a, 0x00}
	if name == "dark" {
		background, up, down = rgb{0x0e, 0x13, 0x18}, rgb{0x12, 0x45, 0x3a}, rgb{0xf0, 0x74, 0x1d}
	}
	count := map[rgb]int{}
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			r, g, bl, _ := img.At(x, y).RGBA()
			count[rgb{uint8(r >> 8), uint8(g >> 8), uint8(bl >> 8)}]++
		}
	}
	if total := b.Dx() * b.Dy(); count[background] < total/3 {
		t.Errorf("%s: the background is on %d of %d pixels only", name, count[background], total)
	}
	// Two cells each, of 24 by 24 with a glyph on it.
	for what, c := range map[string]rgb{"UP": up, "DOWN": down} {
		if count[c] < 400 {
			t.Errorf("%s: cells that are %s are not drawn in their colour (%d pixels)", name, what, count[c])
		}
	}
}
