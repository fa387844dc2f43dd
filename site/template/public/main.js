// In tables, long names may break at their parts, so that the other columns keep room (FREEHOLD_ADDRESS_SPACE, System.Heap.AddressSpace), and figures stay in one line (10.72 / 11.44).
export default {
  start() {
    for (const cell of document.querySelectorAll('article td')) {
      if (/^[\d., /%]+$/.test(cell.textContent.trim())) cell.classList.add('one-line')
    }

    for (const code of document.querySelectorAll('article td code')) {
      const parts = code.textContent.split(/(?<=[._/:=])|(?<=[a-z])(?=[A-Z])/)
      code.replaceChildren(...parts.flatMap(part => [document.createElement('wbr'), part]).slice(1))
    }
  }
}
