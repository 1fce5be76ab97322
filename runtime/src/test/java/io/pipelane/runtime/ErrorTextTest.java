package io.pipelane.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class ErrorTextTest {
  private static String ofLibrary(String before, String said) {
    return before
        + "/src/cuda_call.cc:154 std::conditional_t<THRW, void, Status> onnxruntime::CudaCall(int) "
        + "[with ERRTYPE = cudaError; bool THRW = true] /src/cuda_call.cc:146 "
        + said
        + " ; GPU=0 ; hostname=vm ; file=/src/cuda_stream_handle.cc ; line=58 ; "
        + "expr=cudaEventSynchronize(event_); \n\n";
  }

  @Test
  void of_whatALibrarySaid_isThatWithItsCall() {
    assertEquals(
        new ErrorText(
            Status.DEVICE_FAILURE,
            "CUDA failure 907: operation not permitted on an event last recorded in a capturing "
                + "stream, by cudaEventSynchronize(event_)"),
        ErrorText.of(
            OrtErrorCode.FAIL,
            ofLibrary(
                "",
                "CUDA failure 907: operation not permitted on an event last recorded in a "
                    + "capturing stream")));
  }

  @Test
  void of_whatALibrarySaidInANode_namesTheNode() {
    assertEquals(
        new ErrorText(
            Status.INSUFFICIENT_MEMORY,
            "Non-zero status code returned while running Conv node. Name:'c' Status Message: "
                + "CUDA failure 2: out of memory, by cudaEventSynchronize(event_)"),
        ErrorText.of(
            OrtErrorCode.EP_FAIL,
            ofLibrary(
                "Non-zero status code returned while running Conv node. Name:'c' Status Message: ",
                "CUDA failure 2: out of memory")));
  }

  @Test
  void of_aConditionThatDidNotHold_isWhatItMeans() {
    String message =
        "Exception during initialization: /src/core/optimizer/transformer_memcpy.cc:253 bool "
            + "onnxruntime::IsNodeCompatible(const onnxruntime::Node&) const "
            + "!node_provider_type.empty() was false. Provider type for node 'n' is not set.";
    assertEquals(
        new ErrorText(
            Status.INTERNAL,
            "Exception during initialization: Provider type for node 'n' is not set."),
        ErrorText.of(OrtErrorCode.RUNTIME_EXCEPTION, message));
  }

  @Test
  void of_anythingElse_isAllOfIt() {
    assertEquals(
        new ErrorText(Status.INVALID_ARGUMENT, "Invalid rank for input: x"),
        ErrorText.of(OrtErrorCode.INVALID_ARGUMENT, "Invalid rank for input: x\n"));
  }

  /** Names of nodes are a stranger's; a word of slashes is the worst of them. */
  @Test
  @Timeout(30)
  void of_longNames_isReadAtOnceAndShortened() {
    for (String part : List.of("a", "/", "/a.cc:1 ", "CUDA ", "CUDA failure ", "/x.cc:1 expr=; ")) {
      String name = part.repeat(2_000_000 / part.length());
      String plain = ErrorText.of(OrtErrorCode.FAIL, "Name:'" + name + "' was false. ").text();
      assertTrue(plain.length() < 3 * ErrorText.KEPT_CHARACTERS, part);
      ErrorText library =
          ErrorText.of(OrtErrorCode.FAIL, ofLibrary(name, "CUDA failure 2: out of memory"));
      assertTrue(library.text().length() < 3 * ErrorText.KEPT_CHARACTERS, part);
    }
    String name = "n".repeat(1_000_000);
    ErrorText library =
        ErrorText.of(OrtErrorCode.FAIL, ofLibrary(name + " ", "CUDA failure 2: out of memory"));
    assertEquals(Status.INSUFFICIENT_MEMORY, library.status());
    assertTrue(
        library.text().endsWith("CUDA failure 2: out of memory, by cudaEventSynchronize(event_)"),
        library.text());
  }
}
