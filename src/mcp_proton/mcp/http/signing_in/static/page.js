"use strict";
// The pages of signing in: a passkey is made or used, and the browser goes where it is told. Nothing else.

const main = document.querySelector("main");
const told = document.getElementById("told");
const field = (id) => document.getElementById(id);

const octets = (text) =>
  Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (letter) => letter.charCodeAt(0));

const text = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

async function post(path, body) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    credentials: "same-origin",
  });
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.error_description || "It did not work.");
  return said;
}

const known = (list) => (list || []).map((one) => ({ ...one, id: octets(one.id) }));

async function made(options) {
  const credential = await navigator.credentials.create({
    publicKey: {
      ...options,
      challenge: octets(options.challenge),
      user: { ...options.user, id: octets(options.user.id) },
      excludeCredentials: known(options.excludeCredentials),
    },
  });
  return shown(credential, {
    clientDataJSON: text(credential.response.clientDataJSON),
    attestationObject: text(credential.response.attestationObject),
  });
}

async function used(options) {
  const credential = await navigator.credentials.get({
    publicKey: {
      ...options,
      challenge: octets(options.challenge),
      allowCredentials: known(options.allowCredentials),
    },
  });
  return shown(credential, {
    clientDataJSON: text(credential.response.clientDataJSON),
    authenticatorData: text(credential.response.authenticatorData),
    signature: text(credential.response.signature),
  });
}

const shown = (credential, response) => ({
  id: credential.id,
  rawId: text(credential.rawId),
  type: credential.type,
  response,
});

async function enrol() {
  const code = field("code").value;
  const begun = await post("/sign-in/enrol/begin", { code });
  const credential = await made(begun.options);
  await post("/sign-in/enrol", { flow: begun.flow, code, name: field("name").value, credential });
  main.replaceChildren(Object.assign(document.createElement("h1"), { textContent: "The passkey was added." }));
}

// A program on this device is opened by its scheme, which browsers may not do by themselves.
function go(to) {
  location.assign(to);
  if (/^https?:/.test(to)) return;
  const link = Object.assign(document.createElement("a"), { href: to, textContent: "Open it" });
  told.replaceChildren("The program has its answer once it opens. ", link);
}

async function letIn() {
  const scopes = [...document.querySelectorAll("input[name=scope]:checked")].map((one) => one.value);
  const credential = await used(JSON.parse(main.dataset.options));
  const said = await post("/sign-in/answer", {
    flow: main.dataset.flow,
    client: field("client").value,
    scopes,
    credential,
  });
  go(said.to);
}

async function refuse() {
  go((await post("/sign-in/refuse", { flow: main.dataset.flow })).to);
}

function on(id, work) {
  const button = field(id);
  if (!button) return;
  button.addEventListener("click", async () => {
    button.disabled = true;
    told.textContent = "";
    try {
      await work();
    } catch (error) {
      told.textContent = error.message;
      button.disabled = false;
    }
  });
}

on("enrol", enrol);
on("let-in", letIn);
on("refuse", refuse);
