"use strict";
// The model of bench/capacity/model.py and the words of bench/capacity/advice.py, once more.
// A test compares the two.
(() => {
  const data = JSON.parse(document.getElementById("advice-data").textContent);
  const { costs } = data;

  // --- words, as bench/text.py has them ---
  const MISSING = "–";
  const commas = (text) => text.replace(/\B(?=(\d{3})+$)/g, ",");
  const even = (value) => {
    const low = Math.floor(value);
    return value - low === 0.5 ? low + Math.abs(low % 2) : Math.round(value);
  };
  const roundedAt = (value, places) => even(value * 10 ** places) / 10 ** places;
  const count = (value) => commas(String(even(value)));
  const plural = (value, word) => `${count(value)} ${word}${even(value) === 1 ? "" : "s"}`;
  const fixed = (value, places) => {
    // toFixed rounds a tie up, Python to even. Only a multiple of 2 ** -(kept + 1) can be one.
    const kept = Math.max(0, places);
    const tie = Number.isInteger(value * 2 ** (kept + 1));
    const rounded = tie ? roundedAt(value, kept) : value;
    const [whole, part] = rounded.toFixed(kept).split(".");
    return commas(whole) + (part ? `.${part}` : "");
  };
  const significant = (value, digits) => {
    if (value === 0) return "0";
    const places = digits - 1 - Math.floor(Math.log10(Math.abs(value)));
    return fixed(places < 0 ? roundedAt(value, places) : value, places);
  };
  const times = (value) => (value >= 9.95 ? count(value) : fixed(value, value >= 1.995 ? 1 : 2));
  const duration = (ms, digits = 2) => {
    if (ms >= 995) return `${significant(ms / 1000, digits)} s`;
    return ms >= 0.995 ? `${significant(ms, digits)} ms` : `${significant(ms * 1000, digits)} µs`;
  };
  const size = (bytes) => {
    for (const [unit, scale] of [["GiB", 2 ** 30], ["MiB", 2 ** 20]]) {
      if (Math.abs(bytes) >= 0.995 * scale) return `${significant(bytes / scale, 3)} ${unit}`;
    }
    return `${significant(bytes / 1024, 3)} KiB`;
  };
  const listing = (words) => words.length < 2 ? words.join("")
    : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
  const percent = (share) => `${even(100 * share)} %`;
  const signed = (share) => `${even(100 * share) < 0 ? "−" : "+"}${Math.abs(even(100 * share))} %`;
  const far = (error) => `${even(100 * Math.abs(error))} % too ${error > 0 ? "high" : "low"}`;

  // --- the model ---
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
  const meanWork = (need) => 1e6 * need.work * need.share;
  const addedUs = (backend, need) => {
    const { tls, opening, handshake } = backend.extra;
    const parts = need.tls ? [[tls, 1]] : [];
    if (need.pages) parts.push([opening, 1 / need.pages]);
    if (need.pages && need.tls) parts.push([handshake, 1 / need.pages]);
    if (parts.some(([value]) => value === null)) return null;
    return parts.reduce((sum, [value, weight]) => sum + value * weight, meanWork(need));
  };
  const pageUs = (backend, inFlight) => backend.page * factorAt(backend.factors, inFlight) * costs.alone;
  const settled = (backend, need, added, processes) => {
    let [total, used] = [added, 1];
    for (let round = 0; round < data.rounds; round += 1) {
      total = pageUs(backend, used / processes) + added;
      used = need.rate * (need.delay + total / 1e6);
    }
    return [total, used];
  };
  const processesFor = (backend, need, added) => {
    const carry = (processes) => {
      const [total] = settled(backend, need, added, processes);
      return need.rate * total / 1e6 / need.load <= processes + 1e-9;
    };
    let [few, many] = [0, 1];
    while (!carry(many)) [few, many] = [many, 2 * many];
    while (many - few > 1) {
      const middle = Math.floor((few + many) / 2);
      if (carry(middle)) many = middle;
      else few = middle;
    }
    return many;
  };
  const waitingS = (rate, page, work, share) => {
    const mean = page + share * work;
    const square = (1 - share) * page ** 2 + share * (page + work) ** 2;
    return rate * square / (2 * (1 - rate * mean));
  };

  // --- the advice ---
  const nearest = (name, inFlight, load) => {
    let [best, least] = [null, Infinity];
    for (const check of data.checks) {
      if (check.label !== name || !["processor", "delay"].includes(check.kind)) continue;
      const distance = Math.abs(Math.log10(Math.max(inFlight, 1) / check.slots)) + Math.abs(load - check.load);
      if (distance < least) [best, least] = [check, distance];
    }
    return best;
  };
  const usable = (check) => check.holds && data.kinds[check.kind].good;
  const wrong = (check) => check.holds
    ? `Predictions like this one are off by ${percent(data.kinds[check.kind].error || 0)} in the median, too much to advise on.`
    : `At ${check.point}, the nearest point that was checked, the prediction is ${far(check.error)}.`;
  const blocksOf = (backend, need, inFlight) => {
    const scale = factorAt(backend.factors, inFlight) * costs.alone;
    const added = addedUs(backend, need) || 0;
    return new Map(Object.entries(backend.blocks).map(([block, value]) => [block, value * scale + added]));
  };
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const halfWidth = (logs) => {
    const quantile = costs.quantiles[logs.length];
    if (quantile === undefined) return null;
    const middle = mean(logs);
    const variance = logs.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (logs.length - 1);
    return quantile * Math.sqrt(variance / logs.length);
  };
  const why = (need, total, inUse, processes, most, limiter) => {
    const work = need.work ? `, ${duration(meanWork(need) / 1000, 3)} of it your work` : "";
    const several = processes > 1 ? `${count(processes)} processes` : "One process";
    const ends = limiter === "processor"
      ? (processes === 1 ? "its processor" : "their processors")
      : (processes === 1 ? "its connections" : "their connections");
    return `A page takes ${duration(total / 1000, 3)} of a processor${work}; ${plural(Math.ceil(inUse), "connection")} in use at a time. ` +
      `${several} can do ${count(most)} pages/s, limited by ${ends}.`;
  };
  const beyond = (backend, need, used, processes, check) => {
    const notes = [];
    const inFlight = Math.max(used, 1);
    const [fewest, most] = [backend.factors[0][0], backend.factors[backend.factors.length - 1][0]];
    const at = fewest === most ? `${count(most)} only` : `${count(fewest)} to ${count(most)}`;
    const ratio = Math.max(inFlight / most, fewest / inFlight);
    if (ratio >= data.beyond) {
      notes.push(`${plural(inFlight, "exchange")} in flight in a process, measured with ${at}` +
        (inFlight > most ? `: ${times(ratio)} times as many` : ""));
    }
    if (processes > costs.processors) {
      notes.push(`${count(processes)} processors, measured with at most ${count(costs.processors)}: calculated as so many times one`);
    }
    if ((need.tls || need.pages) && backend.extra.source !== backend.name) {
      notes.push(`what TLS and new connections add is that of ${backend.extra.source}`);
    }
    if (check === null) notes.push("no prediction of its rate was checked");
    return notes;
  };
  const addQueue = (row, backend, need) => {
    if (need.work) {
      if (backend.threaded || backend.in_turn) return;
      const checks = data.checks.filter((c) => c.kind === "queue" && c.label === row.name);
      const check = checks.reduce((one, c) => (one && Math.abs(one.error) >= Math.abs(c.error) ? one : c), null);
      if (check && !usable(check)) {
        row.notes.push(check.holds
          ? `its queue is left out: such predictions are ${percent(data.kinds.queue.error || 0)} off in the median`
          : `its queue is left out: at ${check.point} it is ${far(check.error)}`);
        return;
      }
    }
    row.wait = 1e3 * waitingS(need.rate / row.processes, (row.total - meanWork(need)) / 1e6, need.work, need.share);
  };
  const addMemory = (row, backend, need) => {
    const held = need.tls ? backend.encrypted : backend.plain;
    if (held === null) {
      row.notes.push(`its memory${need.tls ? " over TLS" : ""} was not measured`);
      return;
    }
    const check = data.checks.find((c) => c.kind === "memory" && c.label === row.name && c.tls === need.tls);
    if (check && !usable(check)) {
      row.notes.push(`its memory is left out: at ${check.point} the prediction is ${far(check.error)}`);
      return;
    }
    const share = need.connections / row.processes;
    if (share >= data.beyond * held.highest) {
      row.notes.push(`${count(share)} connections in a process, measured up to ${count(held.highest)}: ` +
        `${times(share / held.highest)} times as many`);
    }
    if (held.missing.length) row.notes.push(`without ${listing(held.missing)}, which could not be read`);
    row.user = row.processes * held.fixed_user + need.connections * held.user;
    row.userEnds = [held.low, held.high].map((each) => row.processes * held.fixed_user + need.connections * each);
    row.kernel = row.processes * held.fixed_kernel + need.connections * held.kernel;
  };
  const addResponse = (row, backend, need, load) => {
    if (need.tls || need.work || need.pages || !backend.answered.length) return;
    const found = backend.answered.find((each) => each.load >= load);
    if (!found) {
      const top = Math.max(...backend.answered.map((each) => each.load));
      row.notes.push(`response time was measured up to ${percent(top)} of a processor`);
      return;
    }
    row.p50 = 1e3 * need.delay + found.p50_ms;
    row.p99 = 1e3 * need.delay + found.p99_ms;
  };
  const weigh = (backend, need) => {
    const row = { name: backend.name, backend, notes: [], p50: null, p99: null, user: null, kernel: null };
    const no = (can, reason) => Object.assign(row, { can, reason });
    if (need.tls && backend.no_tls) return no("no", `It refuses TLS: ${backend.no_tls}.`);
    if (backend.most !== null && backend.most < need.connections) {
      return no("no", `A process of it holds at most ${count(backend.most)} connections.`);
    }
    if (backend.threaded && data.threads !== null && need.connections > data.threads) {
      return no("no", `The settings of the measured machine allow ${count(data.threads)} threads at most: see python -m bench doctor.`);
    }
    if (backend.page === null) return no("left out", "What a page takes was not measured in at least two blocks.");
    const added = addedUs(backend, need);
    if (added === null) {
      const asked = [...(need.tls ? ["TLS"] : []), ...(need.pages ? ["opening a connection"] : [])];
      return no("left out", `What ${listing(asked)} adds to a page was not measured.`);
    }
    const processes = processesFor(backend, need, added);
    const [total, inUse] = settled(backend, need, added, processes);
    if (inUse > need.connections) {
      return no("no", `${plural(Math.ceil(inUse), "connection")} in use at this rate and delay, more than ${count(need.connections)}.`);
    }
    const load = need.rate / processes * total / 1e6;
    const check = nearest(backend.name, inUse / processes, load);
    if (check && !usable(check)) return no("left out", wrong(check));
    const byConnections = need.connections / (need.delay + total / 1e6);
    const byProcessor = processes * need.load * 1e6 / total;
    const limiter = byConnections < byProcessor ? "connections" : "processor";
    const blocks = blocksOf(backend, need, inUse / processes);
    Object.assign(row, {
      can: "yes", total, processes, inUse, check,
      processors: need.rate * total / 1e6 / need.load,
      half: halfWidth([...blocks.values()].map(Math.log)),
      reason: why(need, total, inUse, processes, Math.min(byConnections, byProcessor), limiter),
      wait: null,
      notes: beyond(backend, need, inUse / processes, processes, check),
    });
    addQueue(row, backend, need);
    addMemory(row, backend, need);
    addResponse(row, backend, need, load);
    return row;
  };
  const apart = (one, other, need) => {
    const single = [one, other].some((row) => row.backend.factors.length === 1);
    const [first, second] = [one, other].map((row) =>
      blocksOf(row.backend, need, single ? costs.slots : row.inUse / row.processes));
    const logs = [...first.keys()].filter((block) => second.has(block))
      .map((block) => Math.log(second.get(block) / first.get(block)));
    const half = halfWidth(logs);
    if (half === null) return false;
    const measured = 1 - meanWork(need) / one.total;
    return mean(logs) - half > 0 && mean(logs) > Math.max(costs.floor * measured, data.smallest);
  };
  const memory = (row) => (row.user === null ? Infinity : row.user + row.kernel);
  const advise = (need) => {
    const rows = costs.backends.map((backend) => weigh(backend, need));
    const able = rows.filter((row) => row.can === "yes").sort((one, other) => one.total - other.total);
    let [leader, number] = [null, 0];
    for (const row of able) {
      if (leader === null || apart(leader, row, need)) [leader, number] = [row, number + 1];
      row.group = number;
    }
    able.sort((one, other) => one.group - other.group
      || (memory(one) === memory(other) ? 0 : memory(one) - memory(other)) || one.total - other.total);
    return [...able, ...["left out", "no"].flatMap((can) => rows.filter((row) => row.can === can))];
  };
  const remarks = (need) => {
    const notes = [`A page is 2 KB, parsed, its links followed, as at ${costs.point}. Processes are planned to use ` +
      `${percent(need.load)} of what a processor of the measured machine can do.`];
    const ms = 1e3 * need.delay;
    if (ms && ms >= data.beyond * costs.longest_delay_ms) {
      const ratio = costs.longest_delay_ms ? `: ${times(ms / costs.longest_delay_ms)} times as long` : "";
      notes.push(`The delay is ${duration(ms)}, measured up to ${duration(costs.longest_delay_ms)}${ratio}.`);
    }
    if (need.tls && costs.tls_slots !== null) {
      notes.push(`What TLS adds to a page was measured at ${count(costs.tls_slots)} slots, and is not validated elsewhere.`);
    }
    if (need.work) {
      notes.push("Your work is added as you give it, and response times with it were not measured. Queue is the mean wait " +
        "for the processor, calculated (M/G/1); threads that work, and what works elsewhere than in its loop, take turns, which that does not describe.");
    }
    const files = costs.limits.nofile_hard;
    if (files !== undefined && need.connections + data.spare > files) {
      notes.push(`One process of the measured machine opens at most ${count(files)} files: run ulimit -n ${need.connections + data.spare} as root.`);
    }
    return notes;
  };
  const headline = (rows) => {
    const able = rows.filter((row) => row.can === "yes");
    if (!able.length) return "No measured backend carries this.";
    const first = able.filter((row) => row.group === 1);
    const processes = first.map((row) => row.processes).sort((one, other) => one - other);
    const needed = [...new Set([processes[0], processes[processes.length - 1]].map(count))].join("–");
    const what = `${needed} ${needed === "1" ? "process" : "processes"}`;
    const names = first.length <= 3 ? listing(first.map((row) => row.name)) : `${count(first.length)} backends`;
    const same = first.length > 1
      ? `${names} take the least processor time: ${what}, and nothing tells them apart`
      : `${first[0].name} takes the least processor time: ${what}`;
    if (first[0].user === null) return `${same}.`;
    if (first.length === 1) return `${same}, with ${size(memory(first[0]))} of memory.`;
    return `${same}. Of these, ${first[0].name} needs the least memory: ${size(memory(first[0]))}.`;
  };
  const or = (value, words) => (value === null || value === undefined ? MISSING : words(value));
  const processors = (row) => significant(row.processors, 3) + (row.half === null ? ""
    : ` [${significant(row.processors * Math.exp(-row.half), 3)}–${significant(row.processors * Math.exp(row.half), 3)}]`);
  const userMemory = (bytes, low, high) => (low === high ? size(bytes) : `${size(bytes)} [${low}–${high}]`);
  const cells = (row) => [
    row.name,
    row.group === undefined ? row.can : String(row.group),
    row.processors === undefined ? MISSING : processors(row),
    or(row.processes, count),
    or(row.user, (bytes) => userMemory(bytes, ...row.userEnds.map(size))),
    or(row.kernel, size),
    ...[row.p50, row.p99, row.wait].map((value) => or(value, (ms) => duration(ms, 3))),
    or(row.check, (check) => `${check.point}: ${signed(check.error)}`),
  ];
  const whyCell = (row) => {
    const cell = document.createElement("td");
    cell.dataset.long = "";
    cell.textContent = row.reason;
    if (row.notes.length) {
      const [details, summary] = ["details", "summary"].map((name) => document.createElement(name));
      summary.textContent = "Beyond the measurements";
      details.append(summary, `${row.notes.join("; ")}.`);
      cell.append(details);
    }
    return cell;
  };

  // --- the page ---
  const form = document.getElementById("advice-form");
  const table = document.getElementById("advice-table");
  const numeric = [...table.tHead.rows[0].cells].map((head) => head.classList.contains("number"));
  const show = () => {
    if (!form.checkValidity()) return;
    const value = (name) => Number(form.elements[name].value);
    const need = {
      connections: value("connections"), rate: value("rate"), delay: value("delay") / 1e3,
      tls: form.elements.tls.checked, work: value("work") / 1e3, share: value("share") / 100,
      pages: value("pages") || null, load: value("load") / 100,
    };
    const rows = advise(need);
    document.querySelector("#advice-headline strong").textContent = headline(rows);
    document.getElementById("advice-notes").replaceChildren(...remarks(need).map((line) => {
      const item = document.createElement("li");
      item.textContent = line;
      return item;
    }));
    for (const head of table.tHead.rows[0].cells) head.setAttribute("aria-sort", "none");
    table.tBodies[0].replaceChildren(...rows.map((row) => {
      const line = document.createElement("tr");
      cells(row).forEach((text, column) => {
        const cell = document.createElement(column ? "td" : "th");
        if (!column) cell.scope = "row";
        else if (numeric[column]) cell.className = "number";
        cell.textContent = text;
        line.append(cell);
      });
      line.append(whyCell(row));
      return line;
    }));
  };
  form.hidden = false;
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
})();
