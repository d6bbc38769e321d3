// Text that overlaps other text, leaves the screen, or is cut by the box that contains it.
// The body of a function; run in the page by test_report_page.py.
const width = document.documentElement.clientWidth, wrong = [], boxes = [];
if (document.documentElement.scrollWidth > width) wrong.push(`the page is ${document.documentElement.scrollWidth} wide`);
const shown = (e) => e.checkVisibility({checkVisibilityCSS: true, checkOpacity: true}) && !e.closest(".offscreen, thead, #status");
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) {
  const node = walk.currentNode, owner = node.parentElement;
  if (!node.data.trim() || ["SCRIPT", "STYLE", "OPTION", "TITLE"].includes(owner.tagName.toUpperCase()) || !shown(owner)) continue;
  const range = document.createRange();
  range.selectNodeContents(node);
  for (const box of range.getClientRects()) {
    if (box.width < 1 || box.height < 1) continue;
    const text = node.data.trim().slice(0, 40);
    if (box.left < -1 || box.right > width + 1) wrong.push(`outside: ${text}`);
    for (let up = owner; up && up !== document.body; up = up.parentElement) {
      const style = getComputedStyle(up), frame = up.getBoundingClientRect();
      if (style.overflowX !== "visible" && (box.right > frame.right + 2 || box.left < frame.left - 2)) wrong.push(`clipped: ${text}`);
      if (style.overflowY === "hidden" && (box.bottom > frame.bottom + 2 || box.top < frame.top - 2)) wrong.push(`clipped: ${text}`);
    }
    // In the picture a count may lie on a line, so only the names of services are compared.
    if (!owner.closest("svg") || owner.closest(".node")) boxes.push({text, top: box.top, bottom: box.bottom, left: box.left, right: box.right});
  }
}
boxes.sort((a, b) => a.top - b.top);
for (let i = 0; i < boxes.length; i++) {
  for (let j = i + 1; j < boxes.length && boxes[j].top < boxes[i].bottom; j++) {
    const [a, b] = [boxes[i], boxes[j]];
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top), wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    if (high > 0.4 * Math.min(a.bottom - a.top, b.bottom - b.top) && wide > 2) wrong.push(`overlap: ${a.text} | ${b.text}`);
  }
}
return {wrong, boxes: boxes.length};
