package io.pipelane.lanes.cuda.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.Linker;
import java.lang.foreign.SymbolLookup;
import java.util.NoSuchElementException;
import org.junit.jupiter.api.Test;

/** The way to a native function, tried on those of the C library that return an int. */
class DriverFunctionTest {
  private static final SymbolLookup LIBRARY = Linker.nativeLinker().defaultLookup();

  @Test
  void result_isWhatTheFunctionReturns() {
    DriverFunction absolute = DriverFunction.of(LIBRARY, "abs", 1);
    assertEquals(5, absolute.result(-5, 0, 0, 0, 0, 0));
    assertEquals(5, absolute.result(-5L >>> 32 << 32 | 5, 0, 0, 0, 0, 0), "of its lower half");
    absolute.call(0);
  }

  @Test
  void call_thatFails_namesTheFunctionAndItsOwnArguments() {
    DriverFunction absolute = DriverFunction.of(LIBRARY, "abs", 1);
    CudaException failure = assertThrows(CudaException.class, () -> absolute.call(2));
    assertEquals("abs(2) failed: CUDA_ERROR_OUT_OF_MEMORY (2)", failure.getMessage());
  }

  @Test
  void of_aFunctionThatIsNotThere_throws() {
    assertThrows(
        NoSuchElementException.class, () -> DriverFunction.of(LIBRARY, "cuNoSuchFunction", 5));
  }
}
