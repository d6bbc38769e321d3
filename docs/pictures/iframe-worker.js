// The search of the site runs in a Worker, which browsers refuse to a page opened from a disk. There, a
// hidden frame runs the same script. The name of this file tells the offline plugin of the theme to add
// no script from the network.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(script) {
      super()
      const frame = document.createElement("iframe")
      const escaped = String(new URL(script, location)).replace(/"/g, "&quot;")
      let ready = false
      this.waiting = []
      this.frame = frame
      window.addEventListener("message", event => {
        if (event.source !== frame.contentWindow) return
        if (event.data === "iframe-worker ready") {
          ready = true
          for (const each of this.waiting.splice(0)) frame.contentWindow.dispatchEvent(each)
          return
        }
        const passed = new MessageEvent("message", { data: event.data })
        this.dispatchEvent(passed)
        if (this.onmessage) this.onmessage(passed)
      })
      this.postMessage = data => {
        const event = new MessageEvent("message", { data })
        if (ready) frame.contentWindow.dispatchEvent(event)
        else this.waiting.push(event)
      }
      frame.hidden = true
      frame.srcdoc =
        "<script>" +
        "self.postMessage = data => parent.postMessage(data, '*');" +
        "self.importScripts = (...urls) => urls.reduce((before, url) => before.then(() =>" +
        "  new Promise((done, failed) => {" +
        "    const each = document.createElement('script'); each.src = url;" +
        "    each.onload = done; each.onerror = failed; document.body.append(each) })), Promise.resolve());" +
        "</scr" + "ipt>" +
        `<script src="${escaped}"></scr` + "ipt>" +
        "<script>parent.postMessage('iframe-worker ready', '*')</scr" + "ipt>"
      const start = () => document.body.append(frame)
      if (document.body) start()
      else addEventListener("DOMContentLoaded", start)
    }
    terminate() { this.frame.remove() }
  }
}
