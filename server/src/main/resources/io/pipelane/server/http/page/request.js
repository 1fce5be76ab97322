// The form that asks a model.

import { element, say } from "./dom.js";
import { credentials } from "./feed.js";
import { timeText } from "./format.js";
import { parse } from "./json.js";
import { key } from "./rates.js";

const MOST_VALUES_SHOWN = 24;
const MOST_ELEMENTS = 1 << 20;

/** What an open dimension behind the first is at first: a short text, the side of a small picture. */
const OPEN_DIMENSION = 32;

class Input {
  constructor(declared) {
    this.declared = declared;
    const shape = declared.shape.map((d, i) => (d > 0 ? d : i === 0 ? 1 : OPEN_DIMENSION));
    this.shape = element("input", { value: shape.join(", "), size: 14 });
    this.fill = element("select");
    for (const way of ["zeros", "ones", "random", "values"]) {
      this.fill.append(element("option", { textContent: way }));
    }
    this.values = element("textarea", {
      hidden: true, ariaLabel: `Values of ${declared.name}`,
      placeholder: declared.datatype === "BYTES" ? "one string a line" : "1, 2, 3 ...",
    });
    this.fill.value = { BYTES: "values", FP32: "random", FP16: "random" }[declared.datatype] ?? "ones";
    this.fill.addEventListener("change", () => this.#showValues());
    this.#showValues();
    this.element = element("div", { role: "group", ariaLabel: `Input ${declared.name}` },
      element("div", { className: "fields" },
        element("span", { className: "input-name", textContent: declared.name }),
        element("span", { className: "quiet",
          textContent: `${declared.datatype} [${declared.shape.join(", ")}]` }),
        element("label", {}, "Shape", this.shape),
        element("label", {}, "Filled with", this.fill)),
      this.values);
  }

  #showValues() {
    this.values.hidden = this.fill.value !== "values";
  }

  /** The input as the protocol writes it, as text: values that were typed stay as they were typed. */
  written() {
    const shape = this.shape.value.split(",").map((d) => d.trim()).filter((d) => d).map(Number);
    const count = shape.reduce((a, b) => a * b, 1);
    if (!Number.isSafeInteger(count) || count < 0 || count > MOST_ELEMENTS) {
      throw new Error(`${this.declared.name}: a shape of at most ${MOST_ELEMENTS} elements is needed`);
    }
    const { name, datatype } = this.declared;
    return `${JSON.stringify({ name, datatype, shape }).slice(0, -1)},"data":${this.#data(count)}}`;
  }

  #typed() {
    const text = `[${this.values.value}]`;
    try {
      JSON.parse(text);
      return text;
    } catch {
      throw new Error(`${this.declared.name}: values with commas between them are needed, such as 1, 2, 3`);
    }
  }

  #data(count) {
    const { datatype } = this.declared;
    if (this.fill.value === "values") {
      return datatype === "BYTES" ? JSON.stringify(this.values.value.split("\n")) : this.#typed();
    }
    const element = {
      zeros: () => 0,
      ones: () => 1,
      random: datatype.startsWith("FP") || datatype === "BF16"
        ? () => Number((Math.random() * 2 - 1).toFixed(4))
        : () => Math.floor(Math.random() * (datatype === "BOOL" ? 2 : 100)),
    }[this.fill.value];
    return JSON.stringify(Array.from({ length: count }, () => {
      const value = element();
      return datatype === "BOOL" ? value === 1 : datatype === "BYTES" ? String(value) : value;
    }));
  }
}

/** Takes charge of the form; answers the function that updates its models. */
export function requests(form, select, inputsElement, send, note, answer) {
  let offered;
  let described;
  let inputs = [];
  let wanted = 0;

  async function describe() {
    const asked = ++wanted;
    described = select.value;
    send.disabled = true;
    inputs = [];
    inputsElement.replaceChildren();
    answer.replaceChildren();
    if (!select.value) {
      say(note, "no model is ready");
      return;
    }
    const response = await fetch(path(select.value), { headers: credentials() });
    const metadata = await response.json();
    if (asked !== wanted) {
      return;
    }
    say(note, response.ok ? "" : metadata.error);
    inputs = response.ok ? metadata.inputs.map((declared) => new Input(declared)) : [];
    inputsElement.replaceChildren(...inputs.map((input) => input.element));
    send.disabled = !response.ok;
  }

  async function ask() {
    let body;
    try {
      body = `{"inputs":[${inputs.map((input) => input.written()).join()}]}`;
    } catch (error) {
      say(note, error.message);
      return;
    }
    send.disabled = true;
    say(note, "");
    try {
      const began = performance.now();
      const response = await fetch(`${path(select.value)}/infer`, {
        method: "POST",
        headers: { "Content-Type": "application/json", ...credentials() },
        body,
      });
      const result = parse(await response.text());
      show(response, result, performance.now() - began);
    } catch (error) {
      say(note, error.message);
    } finally {
      send.disabled = false;
    }
  }

  function show(response, result, millis) {
    if (!response.ok) {
      answer.replaceChildren(
        element("span", { className: "pill bad", textContent: String(response.status) }),
        " ", String(result.error));
      return;
    }
    const stall = Number(response.headers.get("Pipelane-Stall-Us") ?? 0) / 1e6;
    const summary = element("div", {},
      element("span", { className: "pill good", textContent: "answered" }),
      ` in ${timeText(millis / 1e3)} by version ${result.model_version}; `,
      stall > 0 ? `it waited ${timeText(stall)} for weights` : "no waiting for weights");
    answer.replaceChildren(summary, ...result.outputs.map(output));
  }

  /** What cannot be told of a model now is asked again when the next state comes. */
  function choose() {
    const chosen = select.value;
    describe().catch((error) => {
      if (chosen === select.value) {
        described = undefined;
        say(note, error.message);
      }
    });
  }

  select.addEventListener("change", choose);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });

  return (state) => {
    const ready = state.models.filter((model) => model.state === "READY");
    const names = ready.map(key).join("\n");
    if (names !== offered) {
      offered = names;
      const chosen = select.value;
      select.replaceChildren(...ready.map((model) =>
        element("option", { value: path(model), textContent: `${model.name} / ${model.version}` })));
      select.value = [...select.options].some((option) => option.value === chosen)
        ? chosen
        : (select.options[0]?.value ?? "");
      select.disabled = ready.length === 0;
    }
    if (select.value !== described) {
      choose();
    }
  };
}

/** A model's path; of an option's value it is the value. */
function path(model) {
  return typeof model === "string"
    ? model
    : `v2/models/${encodeURIComponent(model.name)}/versions/${encodeURIComponent(model.version)}`;
}

function output(tensor) {
  const values = tensor.data.slice(0, MOST_VALUES_SHOWN).map(shown);
  const rest = tensor.data.length - values.length;
  return element("div", {},
    element("div", { className: "fields" },
      element("span", { className: "input-name", textContent: tensor.name }),
      element("span", { className: "quiet",
        textContent: `${tensor.datatype} [${tensor.shape.join(", ")}]` })),
    element("div", { className: "output",
      textContent: values.join(", ")
        + (rest > 0 ? ` ... and ${rest} more` : "") }));
}

/** A value as JSON has it; fractions with six digits. */
function shown(value) {
  if (typeof value === "bigint") {
    return String(value);
  }
  return JSON.stringify(
    typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value);
}
