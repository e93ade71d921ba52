// ebb/autograd/hooks/foreign_error.cpp -- adding a line to an exception that is on its way.
#include "ebb/autograd/hooks/foreign_error.h"

#include "ebb/core/base/error.h"
#include "ebb/core/base/linalg_error.h"

namespace ebb::autograd {
namespace {

template <typename E>
[[noreturn]] void rethrow_as(const E& error, const std::string& text) {
  throw E(str(error.what(), text));
}

}  // namespace

void rethrow_with(const std::string& text) {
  try {
    throw;
  } catch (ForeignError& error) {
    error.add_note(text.substr(text.find_first_not_of('\n')));
    throw;
  } catch (const ShapeError& error) {
    rethrow_as(error, text);
  } catch (const LinAlgError& error) {
    rethrow_as(error, text);
  } catch (const ValueError& error) {
    rethrow_as(error, text);
  } catch (const DTypeError& error) {
    rethrow_as(error, text);
  } catch (const IndexError& error) {
    rethrow_as(error, text);
  } catch (const AutogradError& error) {
    rethrow_as(error, text);
  } catch (const NonFiniteError& error) {
    rethrow_as(error, text);
  } catch (const NotImplementedError& error) {
    rethrow_as(error, text);
  } catch (const OutOfMemoryError& error) {
    rethrow_as(error, text);
  }
}

}  // namespace ebb::autograd
