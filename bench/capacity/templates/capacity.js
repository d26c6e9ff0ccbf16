"use strict";
// The formulas of bench/capacity/model.py, once more. A test compares the two.
(() => {
  const { costs, people, rounds, rounded, beyond } =
    JSON.parse(document.getElementById("advice-data").textContent);

  const factorAt = (factors, inFlight) => {
    let [[first, value], ...rest] = factors;
    if (inFlight <= first) return value;
    for (const [slots, higher] of rest) {
      if (inFlight <= slots) {
        return value + (higher - value) * (Math.log(inFlight / first) / Math.log(slots / first));
      }
      [first, value] = [slots, higher];
    }
    return value;
  };
  const addedUs = ({ extra }, need) => {
    const parts = need.tls ? [[extra.tls, 1]] : [];
    if (need.pages) parts.push([extra.opening, 1 / need.pages]);
    if (need.pages && need.tls) parts.push([extra.handshake, 1 / need.pages]);
    if (parts.some(([value]) => value === null)) return null;
    return parts.reduce((sum, [value, weight]) => sum + value * weight, 1e6 * need.work * need.share);
  };
  const weigh = (backend, need) => {
    const added = addedUs(backend, need);
    const pageUs = (inFlight) => backend.page * factorAt(backend.factors, inFlight) * backend.alone + added;
    const settled = (rate, processes) => {
      let [total, used] = [added, 1];
      for (let round = 0; round < rounds; round += 1) {
        total = pageUs(used / processes);
        used = rate * (need.delay + total / 1e6);
      }
      return [total, used];
    };
    const mostRate = () => {
      let [rate, used] = [0, need.connections];
      for (let round = 0; round < rounds; round += 1) {
        const total = pageUs(used);
        rate = Math.min(need.connections / (need.delay + total / 1e6), need.load * 1e6 / total);
        used = rate * (need.delay + total / 1e6);
      }
      return rate;
    };
    const no = (can) => ({ name: backend.name, can });
    if ((need.tls && backend.no_tls) || (backend.most !== null && backend.most < need.connections)) return no("no");
    if (backend.page === null || added === null) return no("left out");
    const rate = need.rate || mostRate();
    const busy = (processes) => rate * settled(rate, processes)[0] / 1e6 / need.load;
    let [few, processes] = [0, 1];
    while (need.rate && busy(processes) > processes * rounded) [few, processes] = [processes, 2 * processes];
    while (processes - few > 1 && need.rate) {
      const middle = Math.floor((few + processes) / 2);
      if (busy(middle) <= middle * rounded) processes = middle;
      else few = middle;
    }
    const [total, used] = settled(rate, processes);
    if (used > beyond * need.connections) return no("no");
    const held = need.tls ? backend.encrypted : backend.plain;
    return {
      ...no("yes"), processors: busy(processes), processes, page: total, rate,
      memory: held && processes * (held.fixed_user + held.fixed_kernel) + need.connections * (held.user + held.kernel),
    };
  };

  // --- the page ---
  const form = document.getElementById("advice-form");
  const table = document.getElementById("advice-table");
  const number = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
  const COLUMNS = [["processors", 1], ["processes", 1], ["memory", 2 ** 20], ["page", 1], ["rate", 1]];
  const show = () => {
    if (!form.checkValidity()) return;
    const value = (name) => Number(form.elements[name].value);
    const need = {
      connections: value("connections"), rate: value("rate") || null, delay: value("delay") / 1e3,
      tls: form.elements.tls.checked, work: value("work") / 1e3, share: value("share") / 100,
      pages: value("pages") || null, load: value("load") / 100,
    };
    const rows = costs.backends
      .filter((backend) => form.elements.all.checked || people.includes(backend.name))
      .map((backend) => weigh(backend, need))
      .sort((one, other) => (one.page ?? Infinity) - (other.page ?? Infinity) || 0);
    for (const head of table.tHead.rows[0].cells) head.setAttribute("aria-sort", "none");
    table.tBodies[0].replaceChildren(...rows.map((row) => {
      const line = document.createElement("tr");
      const cell = (kind, text) => Object.assign(line.appendChild(document.createElement(kind)), { textContent: text });
      cell("th", row.name).scope = "row";
      cell("td", row.can);
      for (const [name, unit] of COLUMNS) {
        const known = row[name] !== undefined && row[name] !== null;
        const made = cell("td", known ? number.format(row[name] / unit) : "–");
        made.className = "number";
        if (known) made.dataset.value = row[name];
      }
      return line;
    }));
  };
  form.hidden = false;
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
})();
