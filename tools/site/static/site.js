"use strict";
// Without this script the charts follow the system's theme alone.
(() => {
  // A page from a file may not read other pages, which a summary of search results is made of.
  if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

  const media = { light: "not all", dark: "all" };
  addEventListener("DOMContentLoaded", () => {
    const sources = [...document.querySelectorAll("picture > source[media]")];
    const system = sources.map((source) => source.media);
    const show = () => sources.forEach((source, place) => {
      source.media = media[document.body.dataset.theme] ?? system[place];
    });
    new MutationObserver(show).observe(document.body, { attributeFilter: ["data-theme"] });
    show();
    // A keyboard scrolls only what it can focus.
    for (const [what, boxes] of [["Table", ".table-wrapper"], ["Code", ".highlight pre"]]) {
      document.querySelectorAll(boxes).forEach((box, place) => {
        box.tabIndex = 0;
        box.setAttribute("role", "region");
        box.setAttribute("aria-label", `${what} ${place + 1}`);
      });
    }
  });
})();
