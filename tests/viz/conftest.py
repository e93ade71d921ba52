# tests/viz/conftest.py -- one Chromium for all tests here, a tab for each.
import pytest

from ebb.viz import write_html
from tests.viz.browser import Browser


@pytest.fixture(scope="session")
def browser():
    with Browser() as started:
        yield started


@pytest.fixture
def view(browser, tmp_path):
    """A function that opens a graph's page; in the end no page may have had a fault."""
    pages = []

    def open_page(data, link="", **options):
        path = tmp_path / f"graph{len(pages)}.html"
        names = ("compress", "direction")
        written = {name: options.pop(name) for name in names if name in options}
        write_html(data, path, **written)
        page = browser.open(path.as_uri() + link, **options)
        pages.append(page)
        return page

    yield open_page
    faults = [fault for page in pages for fault in page.faults()]
    for page in pages:
        page.close()
    assert not faults
