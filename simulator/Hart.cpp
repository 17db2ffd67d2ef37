#include "simulator/Hart.h"
#include "simulator/Decode.h"
#include <algorithm>

namespace tensorturbo::sim {

void Hart::reset() {
  Core fresh;
  fresh.id = id;
  fresh.l1 = l1;
  fresh.im = im;
  static_cast<Core &>(*this) = fresh;
  mstatus = mtvec = mepc = mcause = mtval = mscratch = mie = mcounteren = 0;
  vstart = vxsat = vxrm = 0;
  retired = retiredOffset = cycleOffset = stores = 0;
  trap = {};
  failure.clear();
  wait = WaitKind::None;
  waitWord = 0;
  barrierTicks = 0;
  fpEnabled = false;
  reservation.reset();
  lastCsrWrite.fill(std::nullopt);
  counters = {};
  flushCode = false;
  forgetCode();
}

void Hart::setVectorType(uint32_t type, uint32_t requested) {
  vtype = type;
  if (vectorTypeIllegal()) {
    vtype = 0x80000000u;
    vl = 0;
    return;
  }
  vl = std::min(requested, 64u);
}

Step Hart::run(uint64_t limit) {
  Step step = Step::Next;
  while (retired < limit) {
    if (pc / CodePage::size != pageNumber) {
      const CodePage *found = code->page(pc / CodePage::size);
      if (!found)
        return raise(1, pc);
      page = found;
      pageNumber = pc / CodePage::size;
    }
    const Decoded &d = page->instructions.data()[pc % CodePage::size / 2];
    next = pc + d.length;
    step = d.execute(*this, d);
    x[0] = 0;
    if (__builtin_expect(step > Step::Yield, 0))
      return step;
    pc = next;
    retired++;
    if (__builtin_expect(step == Step::Yield, 0))
      return step;
  }
  return Step::Next;
}

Step Hart::executeWord(uint32_t word) {
  Decoded d = decode(word);
  next = pc + d.length;
  Step step = d.execute(*this, d);
  x[0] = 0;
  if (step <= Step::Yield) {
    pc = next;
    retired++;
  }
  return step;
}

} // namespace tensorturbo::sim
