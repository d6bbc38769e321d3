const service = "/guests.example";

async function show() {
  const names = await (await fetch(`${service}/guests`)).json();
  document.querySelector("#guests").replaceChildren(...names.map((name) => {
    const item = document.createElement("li");
    item.textContent = name;
    return item;
  }));
  const seen = await (await fetch(`${service}/seen`)).json();
  document.querySelector("#seen").textContent = seen ? "Welcome back" : "Hello";
}

document.querySelector("#arrive").addEventListener("submit", async (event) => {
  event.preventDefault();
  const name = document.querySelector("#name").value;
  await fetch(`${service}/guests`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ name }),
  });
  await show();
});

await show();
document.body.dataset.ready = "yes";
