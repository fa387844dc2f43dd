// Long names in tables may break at their parts, so that the other columns keep room: FREEHOLD_ADDRESS_SPACE, System.Heap.AddressSpace.
export default {
  start() {
    for (const code of document.querySelectorAll('article td code')) {
      const parts = code.textContent.split(/(?<=[._/:=])|(?<=[a-z])(?=[A-Z])/)
      code.replaceChildren(...parts.flatMap(part => [document.createElement('wbr'), part]).slice(1))
    }
  }
}
